#pragma once

#include "cli/print.h"
#include "client/cove.h"

namespace cove::cli {

// Opens a sandbox, asks it, says what went wrong; the exit code. `ask` takes a Sandbox& and gives a Result.
template <class Ask>
int with_sandbox(const std::string& name, Ask ask) {
  auto sandbox = Sandbox::open(name);
  if (!sandbox) return report(sandbox.error());
  const auto answer = ask(*sandbox);
  return answer ? 0 : report(answer.error());
}

}  // namespace cove::cli
