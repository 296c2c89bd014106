#pragma once

#include <array>

#include "spec/option.h"

namespace cove::microvm {

inline Result<void> check_accel(const std::string& value) {
  if (value == "auto" || value == "kvm" || value == "tcg") return {};
  return fail(Errc::invalid, "there are auto, kvm and tcg");
}

inline constexpr std::array kOptions{
    BackendOption{"accel", "NAME", "Select how a microvm runs code: auto, kvm or tcg", check_accel},
    BackendOption{"kernel", "FILE", "Set the kernel of a microvm (vmlinuz or vmlinux)"},
    BackendOption{"fresh", "", "Boot a microvm instead of resuming it from saved memory"},
};

}  // namespace cove::microvm
