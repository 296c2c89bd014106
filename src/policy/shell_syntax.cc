#include "policy/shell_syntax.h"

#include <algorithm>
#include <iterator>

#include "policy/shell_parser.h"

namespace cove::policy {

Script parse_shell(std::string_view text) {
  Script script;
  script.scopes.push_back(0);
  std::string without_nul;
  const bool has_nul = text.find('\0') != std::string_view::npos;
  // Shells leave such bytes out, so that what they join is a command, too.
  if (has_nul) {
    std::copy_if(text.begin(), text.end(), std::back_inserter(without_nul), [](char c) { return c != '\0'; });
    text = without_nul;
  }
  std::size_t budget = 65536 + 4 * text.size();
  ShellParser parser(text, script, {.nowhere = has_nul, .budget = &budget});
  script.deciders = parser.run();
  parser.run_stdin_scripts();
  if (has_nul && script.problem == ShellProblem::none) {
    script.problem = ShellProblem::syntax;
    script.problem_text = "it holds a NUL byte";
  }
  return script;
}

}  // namespace cove::policy
