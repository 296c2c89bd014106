#pragma once

// A command's words, cut into options and operands as most programs do: options begin with '-', until `--`.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "policy/shell_syntax.h"

namespace cove::policy {

struct Call {
  const SimpleCommand& command;
  std::vector<std::string_view> options;
  std::vector<const Word*> operands;

  explicit Call(const SimpleCommand& of);
  // `-r`, `-fr`, `--recursive` or a beginning of it that is long enough; '\0' or "" if there is none of that kind.
  bool has(char letter, std::string_view word = {}) const;
  // Whether the first operand is this one.
  bool first_is(std::string_view text) const { return !operands.empty() && operands[0]->text == text; }
  bool any_operand(std::string_view text) const;
  bool asks_for_help() const { return has('\0', "--help") || has('\0', "--version"); }
};

bool is_any(std::string_view word, std::initializer_list<std::string_view> of);

// For sentences: in quotes, without control bytes, not longer than a line.
std::string shown(const SimpleCommand& command);
std::string shown(std::string_view text);

}  // namespace cove::policy
