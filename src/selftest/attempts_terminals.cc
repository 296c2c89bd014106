#include "selftest/stage.h"

namespace cove::selftest {

std::span<const Attempt> terminal_attempts() { return {}; }

}  // namespace cove::selftest
