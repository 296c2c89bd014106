#include "terminal/guard.h"

namespace cove::terminal {

GuardVerdict judge(const GuardRequest& request) {
  if (request.command.find_first_not_of(" \t\r\n") != std::string::npos) return {};
  return {GuardVerdict::Kind::blocked, "the command is empty: nothing would run"};
}

std::string exit_code_meaning(const std::string& /*command*/, int exit_code) {
  if (exit_code == 137) return "killed (usually by a memory limit, or by somebody with kill -9)";
  return "";
}

}  // namespace cove::terminal
