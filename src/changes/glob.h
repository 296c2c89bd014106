#pragma once

// Patterns for paths, as people know them from .gitignore: `*`, `?` and `[a-z]` stay within one name, `**` goes through
// any number of directories. A pattern without a slash is about the name, in any directory; one with a slash is about
// the path. What matches a directory matches everything below it.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::changes {

class Globs {
 public:
  // invalid: a bracket that is not closed, an empty pattern, more than 4096 bytes.
  static Result<Globs> make(const std::vector<std::string>& patterns);
  // No patterns match everything.
  bool match(std::string_view path) const;
  bool everything() const { return globs_.empty(); }

 private:
  struct Token {
    enum class Kind : unsigned char { byte, any, set, star, all } kind = Kind::byte;
    unsigned char value = 0;
    std::vector<bool> members;
  };
  struct Glob {
    std::vector<Token> tokens;
    bool whole_path = false;
  };
  static Result<Glob> parse(const std::string& pattern);
  static Result<Token> parse_set(const std::string& pattern, std::size_t& at);
  static bool match_one(const Glob& glob, std::string_view text);
  bool match_here(std::string_view path) const;

  std::vector<Glob> globs_;
};

}  // namespace cove::changes
