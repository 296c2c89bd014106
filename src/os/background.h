#pragma once

#include <functional>

namespace cove::os {

// Does work that nobody waits for, in a child that holds none of our descriptors but the first three: not our locks,
// and not the other end of anybody's connection, so that our end is seen also while it works on. For processes with one
// thread. Children that have ended are reaped by the next call, or by reap_background().
void run_in_background(const std::function<void()>& work);
void reap_background();

}  // namespace cove::os
