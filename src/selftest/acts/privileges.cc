// Ways to more rights than a process was started with.

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

constexpr uid_t kNobody = 65534;

std::string status_line(std::string_view key) {
  std::string text;
  read_file("/proc/self/status", text);
  const std::size_t at = text.find(std::string(key) + ":\t");
  if (at == std::string::npos) return "";
  const std::size_t value = at + key.size() + 2;
  return text.substr(value, text.find('\n', value) - value);
}

// A set that the kernel does not list has nothing in it.
std::uint64_t capabilities_in(const char* set) { return std::strtoull(status_line(set).c_str(), nullptr, 16); }

Act no_new_privs(const Args&) {
  const int set = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  return set == 1 ? refused("no_new_privs is set") : did("no_new_privs is not set");
}

Act seccomp(const Args&) {
  const std::string mode = status_line("Seccomp");
  return mode == "2" ? refused("a filter is in force") : did("Seccomp: " + mode);
}

Act dangerous_capabilities(const Args&) {
  constexpr struct {
    int number;
    const char* name;
  } kDangerous[] = {{2, "DAC_READ_SEARCH"},
                    {9, "LINUX_IMMUTABLE"},
                    {12, "NET_ADMIN"},
                    {16, "SYS_MODULE"},
                    {17, "SYS_RAWIO"},
                    {19, "SYS_PTRACE"},
                    {20, "SYS_PACCT"},
                    {21, "SYS_ADMIN"},
                    {22, "SYS_BOOT"},
                    {23, "SYS_NICE"},
                    {24, "SYS_RESOURCE"},
                    {25, "SYS_TIME"},
                    {26, "SYS_TTY_CONFIG"},
                    {30, "AUDIT_CONTROL"},
                    {32, "MAC_OVERRIDE"},
                    {33, "MAC_ADMIN"},
                    {34, "SYSLOG"},
                    {35, "WAKE_ALARM"},
                    {36, "BLOCK_SUSPEND"},
                    {37, "AUDIT_READ"},
                    {38, "PERFMON"},
                    {39, "BPF"},
                    {40, "CHECKPOINT_RESTORE"}};
  std::uint64_t held = 0;
  for (const char* set : {"CapEff", "CapPrm", "CapInh", "CapAmb"}) held |= capabilities_in(set);
  // With no_new_privs the bounding set gives nothing to a process that is not root; to root it does.
  if (geteuid() == 0) held |= capabilities_in("CapBnd");
  std::string found;
  for (const auto& each : kDangerous) {
    if ((held >> each.number & 1) != 0) found += std::string(" ") + each.name;
  }
  return found.empty() ? refused("none of the dangerous ones") : did("has" + found);
}

// In the second program: what it was given.
Act show_rights(const Args&) {
  if (geteuid() != kNobody) return did("user " + std::to_string(geteuid()) + " after having been nobody");
  if (capabilities_in("CapEff") != 0) return did("capabilities " + status_line("CapEff"));
  return refused("still nobody, without capabilities");
}

// A copy of this program that everybody may run, in a directory of its own below `parent`; "" and errno.
std::string copy_self(const std::string& parent) {
  std::string directory = parent + "/cove-selftest-XXXXXX", program;
  if (mkdtemp(directory.data()) == nullptr || chmod(directory.c_str(), 0755) < 0) return "";
  const std::string path = directory + "/copy";
  if (!read_file("/proc/self/exe", program, std::size_t{64} << 20) || !write_file(path, program, O_CREAT)) return "";
  return chmod(path.c_str(), 0755) == 0 ? path : "";
}

void remove_copy(const std::string& path) {
  unlink(path.c_str());
  rmdir(path.substr(0, path.rfind('/')).c_str());
}

// Becomes nobody and runs the copy, which must stay nobody.
Act run_as_nobody(const Args& args) {
  if (setgid(kNobody) < 0 || setuid(kNobody) < 0) return absent("cannot become another user here: " + errno_text());
  execl(args[0].c_str(), "cove-attempt", "show_rights", nullptr);
  return absent("cannot run the copy: " + errno_text());
}

Act run_copy(const std::string& path) {
  // The second program replaces the child before it can write to the pipe; its words come on stdout, its code counts.
  Act act = in_child(run_as_nobody, {path});
  remove_copy(path);
  if (act.text.empty()) act.text = act.result == Result::did ? "gained by exec" : "nothing gained by exec";
  return act;
}

// args: a directory.
Act setuid_program(const Args& args) {
  if (geteuid() != 0) return absent("only root can leave a program that runs as root");
  const std::string path = copy_self(args[0]);
  if (path.empty()) return absent("no program can be left in " + args[0] + ": " + errno_text());
  if (chmod(path.c_str(), 04755) == 0) return run_copy(path);
  const Act act = refused_by_errno("make a setuid program");
  remove_copy(path);
  return act;
}

// args: a directory.
Act file_capabilities(const Args& args) {
  const std::string path = copy_self(args[0]);
  if (path.empty()) return absent("no program can be left in " + args[0] + ": " + errno_text());
  vfs_cap_data data{};
  data.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  data.data[0].permitted = 1U << CAP_DAC_OVERRIDE | 1U << CAP_SYS_ADMIN;
  if (setxattr(path.c_str(), "security.capability", &data, sizeof(data), 0) == 0) return run_copy(path);
  const Act act = refused_by_errno("give a file capabilities");
  remove_copy(path);
  return act;
}

// args: a directory, a path of the host. The classic way out of a chroot: keep a descriptor of a directory above the
// new root and walk up from there.
Act chroot_escape(const Args& args) {
  const std::string cell = args[0] + "/cell";
  mkdir(cell.c_str(), 0700);
  const int above = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (chroot(cell.c_str()) < 0) return refused_by_errno("chroot");
  if (fchdir(above) < 0) return refused_by_errno("fchdir");
  for (int i = 0; i < 64; ++i) {
    if (chdir("..") < 0) break;
  }
  if (chroot(".") < 0) return refused_by_errno("chroot to the top");
  std::string content;
  return read_file(args[1], content) ? did(content) : refused_by_errno("read " + args[1] + " from the top");
}

// args: a directory, in which a core may be left.
Act dump_core(const Args& args) {
  if (chdir(args[0].c_str()) < 0) return refused_by_errno("chdir");
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &unlimited);
  rlimit now{};
  getrlimit(RLIMIT_CORE, &now);
  const rlimit most{now.rlim_max, now.rlim_max};
  setrlimit(RLIMIT_CORE, &most);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) && WCOREDUMP(status) ? did("a core was dumped") : refused("no core was dumped");
}

// User 0 of the host: mapped to itself in the first user namespace.
Act root_of_host(const Args&) {
  std::string map;
  if (geteuid() != 0) return refused("user " + std::to_string(geteuid()));
  if (!read_file("/proc/self/uid_map", map)) return refused_by_errno("read the map of users");
  std::uint64_t inside = 1, outside = 1;
  std::sscanf(map.c_str(), "%lu %lu", &inside, &outside);
  if (inside == 0 && outside == 0) return did("user 0 inside is user 0 of the host");
  return refused("user 0 is another one outside");
}

constexpr Entry kPrivilegesEntries[] = {
    {"no_new_privs", no_new_privs},
    {"seccomp", seccomp},
    {"dangerous_capabilities", dangerous_capabilities},
    {"show_rights", show_rights},
    {"setuid_program", setuid_program},
    {"file_capabilities", file_capabilities},
    {"chroot_escape", [](const Args& args) { return in_child(chroot_escape, args); }},
    {"root_of_host", root_of_host},
    {"dump_core", dump_core},
};

}  // namespace

std::span<const Entry> privilege_acts() { return kPrivilegesEntries; }

}  // namespace cove::acts
