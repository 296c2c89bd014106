#pragma once

// What executes a machine's code: the processor itself (KVM), or a translator (QEMU's TCG).

#include <cstdint>
#include <string>

#include "base/deadline.h"
#include "base/error.h"

namespace cove::microvm {

struct Accel {
  bool kvm = false;
  std::string why;            // why not KVM; "" if it is
  std::uint64_t tsc_khz = 0;  // of this machine's time stamp counter, which TCG shows to guests as it is
  std::string name() const { return kvm ? "kvm" : "tcg"; }
  // For people: "kvm", or "tcg: ..., an order of magnitude slower: WHY".
  std::string text() const;
};

// Found out once per boot of this machine and kept in `cache`. `wanted`: "", "auto", "kvm" or "tcg".
// unsupported: KVM was asked for and does not run code here.
Result<Accel> choose_accel(const std::string& cache, const std::string& wanted);

// Whether KVM executes ordinary 64-bit code as fast as the processor does: SSE and a million turns of a loop, in a
// virtual processor of its own, within 300 ms of processor time. "" if it does, otherwise why not. To open /dev/kvm, or
// to run a few instructions of real mode, proves nothing: software that stands in for KVM interprets those and then
// hangs on everything else.
std::string why_no_kvm();

}  // namespace cove::microvm
