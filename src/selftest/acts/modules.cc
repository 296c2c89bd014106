// Acts on the machine as a whole. Each is called with arguments that can never work: that the kernel looked at them at
// all is what must not happen, and nothing happens to a host without walls.

#include <fcntl.h>
#include <linux/kexec.h>
#include <sys/io.h>
#include <sys/quota.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

constexpr const char* kNowhere = "/nonexistent/cove-selftest";

Act kexec_load(const Args&) {
  return by_reach(syscall(SYS_kexec_load, 0UL, static_cast<unsigned long>(KEXEC_SEGMENT_MAX + 1), nullptr, 0UL),
                  "kexec_load");
}

Act kexec_file_load(const Args&) {
  return by_reach(syscall(SYS_kexec_file_load, -1, -1, 0UL, nullptr, 0UL), "kexec_file_load");
}

Act init_module(const Args&) { return by_reach(syscall(SYS_init_module, "", 0UL, ""), "init_module"); }

Act finit_module(const Args&) { return by_reach(syscall(SYS_finit_module, -1, "", 0), "finit_module"); }

Act delete_module(const Args&) {
  return by_reach(syscall(SYS_delete_module, "cove_selftest_none", O_NONBLOCK), "delete_module");
}

// Wrong magic numbers: the right to reboot is asked first.
Act reboot(const Args&) { return by_reach(syscall(SYS_reboot, 0, 0, 0, nullptr), "reboot"); }

Act swap_on(const Args&) { return by_reach(swapon(kNowhere, 0), "swapon"); }

Act quota(const Args&) { return by_reach(quotactl(QCMD(Q_GETFMT, USRQUOTA), kNowhere, 0, nullptr), "quotactl"); }

Act accounting(const Args&) { return by_reach(acct(kNowhere), "acct"); }

#ifdef __x86_64__
Act io_ports(const Args&) { return by_result(iopl(3), "iopl(3)"); }
Act one_port(const Args&) { return by_result(ioperm(0x80, 1, 1), "ioperm"); }

constexpr long kUnshare32 = 310, kUnshareX32 = 0x40000000 + SYS_unshare;
constexpr long kNewUser = 0x10000000;

// The same forbidden call by the 32-bit entry, which a filter for 64-bit numbers alone does not see.
Act unshare_by_int80(const Args&) {
  long result = 0;
  asm volatile("int $0x80" : "=a"(result) : "a"(kUnshare32), "b"(kNewUser) : "memory", "r8", "r9", "r10", "r11");
  if (result < 0) return refused("unshare by int 0x80: " + errno_text(static_cast<int>(-result)));
  return did("unshare(CLONE_NEWUSER) by int 0x80 succeeded");
}

Act unshare_by_x32(const Args&) { return by_result(syscall(kUnshareX32, kNewUser), "unshare by an x32 number"); }
#else
Act no_such_door(const Args&) { return absent("this processor has no such door"); }
constexpr auto io_ports = no_such_door, one_port = no_such_door;
constexpr auto unshare_by_int80 = no_such_door, unshare_by_x32 = no_such_door;
#endif

constexpr Entry kModulesEntries[] = {
    {"kexec_load", kexec_load},
    {"kexec_file_load", kexec_file_load},
    {"init_module", init_module},
    {"finit_module", finit_module},
    {"delete_module", delete_module},
    {"reboot", reboot},
    {"swapon", swap_on},
    {"quotactl", quota},
    {"acct", accounting},
    {"iopl", io_ports},
    {"ioperm", one_port},
    {"int80_bypass", [](const Args& args) { return in_child(unshare_by_int80, args); }},
    {"x32_bypass", [](const Args& args) { return in_child(unshare_by_x32, args); }},
};

}  // namespace

std::span<const Entry> module_acts() { return kModulesEntries; }

}  // namespace cove::acts
