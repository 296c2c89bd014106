#pragma once

// A pattern for simple commands, as people write it into a configuration: `git push *`, `rm -rf *`, `*/deploy.sh prod`.
// It is cut into words at blanks, and each matches one word of a command: `*`, `?` and `[a-z]` stay within it.
// A `*` alone matches any number of words, also none; a last word that ends with `*` lets any words follow
// (`git push --force*`). `\` takes the next byte as it is, also a blank. The first word is compared with the command
// word and with its last name, so that `rm *` is about /bin/rm, too. Letters match in either case.
//
// Rejected: one glob over the joined words, for which `echo "x; rm -rf /"` is a match of `*rm -rf*`.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/shell_syntax.h"

namespace cove::policy {

class CommandPattern {
 public:
  // invalid: nothing but blanks, a control byte, or more than 4096 bytes.
  static Result<CommandPattern> make(std::string_view text);

  bool match(const SimpleCommand& command) const;
  // Only a word for the command: what a deny list takes for "with any arguments".
  bool is_name() const { return words_.size() == 1; }
  // The first word alone.
  bool match_name(const SimpleCommand& command) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::string> words_;
};

// The pattern that matches exactly this command.
std::string exact_pattern(const SimpleCommand& command);

}  // namespace cove::policy
