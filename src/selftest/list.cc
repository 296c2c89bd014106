#include "selftest/attempt.h"

namespace cove::selftest {

std::string_view name(Finding finding) {
  constexpr std::string_view kNames[] = {"held", "broken", "not_applicable"};
  return kNames[static_cast<std::size_t>(finding)];
}

std::vector<Attempt> all_attempts() {
  std::vector<Attempt> all;
  for (const auto list :
       {read_attempts(), write_attempts(), process_attempts(), privilege_attempts(), network_attempts(),
        socket_attempts(), kernel_attempts(), namespace_attempts(), proc_attempts(), descriptor_attempts(),
        copy_attempts(), volume_attempts(), terminal_attempts(), exhaustion_attempts()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace cove::selftest
