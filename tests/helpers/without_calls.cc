// without-calls NAME,NAME... -- PROGRAM ARGS...: runs a program, and all that it starts, on a kernel that does not have
// these system calls.

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Call {
  const char* name;
  unsigned number;
};

constexpr std::array kCalls{Call{"clone3", SYS_clone3}, Call{"pidfd_open", SYS_pidfd_open},
                            Call{"openat2", SYS_openat2}, Call{"close_range", SYS_close_range},
                            Call{"mount_setattr", SYS_mount_setattr}};

std::optional<unsigned> number_of(const std::string& name) {
  for (const Call& call : kCalls) {
    if (name == call.name) return call.number;
  }
  return std::nullopt;
}

// Every call of one of these numbers is told that there is none; the rest goes through. The architecture is not looked
// at: whoever uses another one here only meets fewer refusals.
bool forbid(const std::vector<unsigned>& numbers) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned number : numbers) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  // Root needs no promise, and with it set-user-id programs (newuidmap) would not work below.
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return true;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || std::strcmp(argv[2], "--") != 0) {
    return std::fprintf(stderr, "usage: without-calls NAME,NAME... -- PROGRAM ARGS...\n"), 2;
  }
  std::vector<unsigned> numbers;
  std::istringstream names(argv[1]);
  for (std::string name; std::getline(names, name, ',');) {
    const auto number = number_of(name);
    if (!number) return std::fprintf(stderr, "without-calls: %s is not in its table\n", name.c_str()), 2;
    numbers.push_back(*number);
  }
  if (!forbid(numbers)) return std::perror("without-calls: install the filter"), 1;
  execvp(argv[3], argv + 3);
  return std::perror(argv[3]), 127;
}
