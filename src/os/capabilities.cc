#include "os/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace cove::os {

bool bound_capabilities(std::span<const int> kept) {
  for (int capability = 0;; ++capability) {
    if (std::find(kept.begin(), kept.end(), capability) != kept.end()) continue;
    if (prctl(PR_CAPBSET_DROP, capability) < 0) return errno == EINVAL;  // the kernel knows no more
  }
}

bool set_capabilities(std::span<const int> kept) {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  for (const int capability : kept) {
    auto& word = data[static_cast<std::size_t>(capability) / 32];
    word.permitted |= 1U << (static_cast<unsigned>(capability) % 32);
    word.effective = word.permitted;
  }
  return syscall(SYS_capset, &header, data.data()) == 0;
}

}  // namespace cove::os
