#pragma once

#include <functional>

#include "base/error.h"

namespace cove::os {

// Does work in a child that is root in a user namespace with the caller's range of /etc/subuid, and so may do with
// files of those users what root may. denied: the caller has no such range, or the work said false.
Result<void> as_mapped_root(const std::function<bool()>& work);

}  // namespace cove::os
