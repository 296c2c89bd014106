// seccomp_compile ARCHITECTURE: runs at build time and writes the filters of seccomp.h as C arrays to stdout.
//
// libseccomp knows the calls' numbers; the programs are put together here. Its own compiler makes one comparison for
// each call and cannot say "otherwise" of an argument: that came to 1268 instructions, which the kernel takes 0.53 ms
// to check and translate at every start of a sandbox. A search over ranges of numbers needs a tenth of both.

#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "os/seccomp_calls.h"
#include "os/seccomp_program.h"

namespace cove::seccomp {
namespace {

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kNotPermitted = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kNoSuchCall = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::uint32_t kNoSuchFamily = SECCOMP_RET_ERRNO | EAFNOSUPPORT;

struct Architecture {
  std::uint32_t token;        // libseccomp's, which is also the kernel's
  std::uint32_t foreign_bit;  // in the number of a call by another table (x32)
};

// In clone the bit of CLONE_NEWTIME is part of the exit signal.
constexpr std::uint32_t kNewNamespace =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr std::uint32_t kNewTime = 0x80;

class Filter {
 public:
  explicit Filter(Architecture architecture)
      : architecture_(architecture), decisions_(1024, program_.decide(kNoSuchCall)) {}

  void set(const char* name, Position decision) {
    const int number = seccomp_syscall_resolve_name_arch(architecture_.token, name);
    if (number == __NR_SCMP_ERROR || number >= static_cast<int>(decisions_.size())) {
      std::fprintf(stderr, "seccomp_compile: libseccomp does not know %s\n", name);
      std::exit(1);
    }
    if (number >= 0) decisions_[static_cast<std::size_t>(number)] = decision;
  }
  void set(const char* name, std::uint32_t action) { set(name, program_.decide(action)); }
  void set(std::initializer_list<const char*> names, std::uint32_t action) {
    for (const char* name : names) set(name, action);
  }
  void set(const char* name, const Tests& tests, std::uint32_t otherwise) {
    set(name, program_.test(tests, otherwise));
  }

  void write(const char* name) {
    Ranges ranges;
    for (std::uint32_t number = 0; number < decisions_.size(); ++number) {
      if (ranges.empty() || ranges.back().decision != decisions_[number])
        ranges.push_back({number, decisions_[number]});
    }
    if (architecture_.foreign_bit != 0) {
      ranges.push_back({architecture_.foreign_bit, program_.decide(SECCOMP_RET_KILL_PROCESS)});
      ranges.push_back({architecture_.foreign_bit * 2, program_.decide(kNoSuchCall)});
    }
    program_.finish(architecture_.token, ranges, SECCOMP_RET_KILL_PROCESS);
    program_.write(name);
  }

 private:
  Architecture architecture_;
  Program program_{{kAllow, kNotPermitted, kNoSuchCall, kNoSuchFamily, SECCOMP_RET_KILL_PROCESS}};
  std::vector<Position> decisions_;  // by the call's number
};

void add_common(Filter& filter) {
  filter.set(kAllowed, kAllow);
  filter.set(kRefused, kNotPermitted);
  filter.set("clone", {{0, Is::any_bit_of, kNewNamespace, kNotPermitted}}, kAllow);
  filter.set("unshare", {{0, Is::any_bit_of, kNewNamespace | kNewTime, kNotPermitted}}, kAllow);
  // A debugger may start what it debugs, not take hold of what already runs.
  filter.set("ptrace", {{0, Is::equal, PTRACE_ATTACH, kNotPermitted}, {0, Is::equal, PTRACE_SEIZE, kNotPermitted}},
             kAllow);
  // Typing into a terminal as if it were its user, pasting a console's selection, other line disciplines.
  filter.set("ioctl",
             {{1, Is::equal, TIOCSTI, kNotPermitted},
              {1, Is::equal, TIOCLINUX, kNotPermitted},
              {1, Is::equal, TIOCSETD, kNotPermitted}},
             kAllow);
  // Other personalities switch protections off. The last value asks which one it is.
  filter.set("personality",
             {{0, Is::equal, 0, kAllow}, {0, Is::equal, ADDR_NO_RANDOMIZE, kAllow}, {0, Is::equal, ~0U, kAllow}},
             kNotPermitted);
  filter.set("socketpair", {{0, Is::equal, AF_UNIX, kAllow}}, kNoSuchFamily);
}

// Netlink is for asking about interfaces and routes, nothing else.
void add_sockets(Filter& filter, std::initializer_list<std::uint32_t> families) {
  Tests tests;
  for (const std::uint32_t family : families) tests.push_back({0, Is::equal, family, kAllow});
  tests.push_back({0, Is::not_equal, AF_NETLINK, kNoSuchFamily});
  tests.push_back({2, Is::equal, NETLINK_ROUTE, kAllow});
  filter.set("socket", tests, kNoSuchFamily);
}

void write_sandbox(Architecture architecture) {
  Filter filter(architecture);
  add_common(filter);
  filter.set(kIpc, kAllow);
  filter.set("prlimit64", kAllow);
  add_sockets(filter, {AF_UNIX, AF_INET, AF_INET6});
  filter.write("kSandbox");
}

enum class Network : unsigned char { none, host };

void write_host_process(Architecture architecture, Network network) {
  Filter filter(architecture);
  add_common(filter);
  filter.set(kIpc, kNotPermitted);
  // A process number of 0 is the caller itself.
  filter.set("prlimit64", {{0, Is::equal, 0, kAllow}}, kNotPermitted);
  filter.set("socket", kNoSuchFamily);
  if (network == Network::host) add_sockets(filter, {AF_INET, AF_INET6});
  filter.write(network == Network::host ? "kHostProcess" : "kHostProcessWithoutNetwork");
}

}  // namespace
}  // namespace cove::seccomp

int main(int argc, char** argv) {
  using namespace cove::seccomp;
  const std::uint32_t token = argc == 2 ? seccomp_arch_resolve_name(argv[1]) : 0;
  if (token != AUDIT_ARCH_X86_64 && token != AUDIT_ARCH_AARCH64) {
    return std::fprintf(stderr, "usage: seccomp_compile x86_64|aarch64\n"), 1;
  }
  const Architecture architecture{token, token == AUDIT_ARCH_X86_64 ? 0x40000000U : 0};
  write_sandbox(architecture);
  write_host_process(architecture, Network::host);
  write_host_process(architecture, Network::none);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
