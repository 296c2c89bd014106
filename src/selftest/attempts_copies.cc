#include "selftest/stage.h"

namespace cove::selftest {

std::span<const Attempt> copy_attempts() { return {}; }

}  // namespace cove::selftest
