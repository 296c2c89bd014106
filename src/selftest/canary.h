#pragma once

#include "client/cove.h"
#include "selftest/runner.h"

namespace cove::selftest {

// `--prove`: the attempts on kernel and namespaces, made in a sandbox before anybody else uses it. They change nothing.
Result<std::vector<Tried>> prove(Sandbox sandbox, const std::string& backend, const Call& call);

}  // namespace cove::selftest
