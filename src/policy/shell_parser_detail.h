#pragma once

// What the files of the parser share.

#include <string_view>
#include <utility>

#include "policy/shell_parser.h"

namespace cove::policy {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
constexpr bool is_meta(char c) {
  return is_blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' || c == '<' || c == '>';
}
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_name_byte(char c) { return is_name_start(c) || is_digit(c); }

inline void append(Word& word, std::string_view text, char kind) {
  word.text += text;
  word.kinds.append(text.size(), kind);
}
inline void append(Word& word, char c, char kind) {
  word.text += c;
  word.kinds += kind;
}

// One level of nesting; every recursion of the parser goes through one of these.
class ShellParser::Deeper {
 public:
  explicit Deeper(ShellParser& parser) : parser_(parser) {
    if (++parser_.place_.depth > kMaxShellDepth) parser_.fail(ShellProblem::too_deep, "it nests too deeply");
  }
  ~Deeper() { --parser_.place_.depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  ShellParser& parser_;
};

// Another place until the end of the block. Here-documents that still wait for the end of their line wait on: a newline
// within `$( )` is not that end.
class ShellParser::Inside {
 public:
  explicit Inside(ShellParser& parser)
      : parser_(parser), place_(parser.place_), documents_(std::exchange(parser.documents_, {})) {}
  ~Inside() {
    const unsigned depth = parser_.place_.depth;
    parser_.place_ = place_;
    parser_.place_.depth = depth;
    documents_.insert(documents_.end(), parser_.documents_.begin(), parser_.documents_.end());
    parser_.documents_ = std::move(documents_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  ShellParser& parser_;
  Place place_;
  std::vector<PendingDocument> documents_;
};

}  // namespace cove::policy
