#include "os/seccomp.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace cove::os {
namespace {

using Filter = std::span<const sock_filter>;

// A call with arguments that do no harm even where it is allowed.
struct Call {
  std::string name;
  long number;
  std::array<long, 6> args{};
};

constexpr int kKilled = 1000;  // plus the signal

// In a child of its own session, so that nothing it does reaches us. Its errno, or 0.
template <class Act>
int in_child(Filter filter, Act act) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (!filter.empty() && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || !install_filter(filter))) _exit(255);
    errno = 0;
    _exit(act() < 0 ? errno : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 255) << "the filter cannot be installed";
  return WIFSIGNALED(status) ? kKilled + WTERMSIG(status) : WEXITSTATUS(status);
}

int errno_of(const Call& call, Filter filter) {
  const auto& a = call.args;
  return in_child(filter, [&] { return syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]); });
}

// The second check shows that the first one can fail. Only root gets past the kernel's own EPERM.
void expect_refused(const std::vector<Call>& calls, int expected, Filter filter = sandbox_filter()) {
  for (const Call& call : calls) {
    EXPECT_EQ(errno_of(call, filter), expected) << call.name;
    if (geteuid() != 0) continue;
    EXPECT_NE(errno_of(call, {}), expected) << call.name << " without the filter";
  }
}

TEST(Seccomp, EveryFilterHasALengthThatTheKernelTakes) {
  for (const Filter filter : {sandbox_filter(), host_process_filter(), host_process_filter_without_network()}) {
    EXPECT_GT(filter.size(), 50U);
    EXPECT_LT(filter.size(), 4096U);
    EXPECT_EQ(in_child(filter, [] { return 0; }), 0);
  }
}

TEST(Seccomp, MountingIsRefused) {
  expect_refused({{"mount", SYS_mount},
                  {"umount2", SYS_umount2},
                  {"pivot_root", SYS_pivot_root},
                  {"open_tree", SYS_open_tree, {-1}},
                  {"move_mount", SYS_move_mount, {-1, 0, -1, 0, -1}},
                  {"fsopen", SYS_fsopen},
                  {"fsconfig", SYS_fsconfig, {-1}},
                  {"fsmount", SYS_fsmount, {-1}},
                  {"fspick", SYS_fspick, {-1}},
                  {"mount_setattr", SYS_mount_setattr, {-1}}},
                 EPERM);
}

TEST(Seccomp, FilesByHandleAndWholeFileSystemEventsAreRefused) {
  expect_refused({{"open_by_handle_at", SYS_open_by_handle_at, {-1}},
                  {"name_to_handle_at", SYS_name_to_handle_at, {-1}},
                  {"fanotify_init", SYS_fanotify_init, {-1}},
                  {"fanotify_mark", SYS_fanotify_mark, {-1}}},
                 EPERM);
}

TEST(Seccomp, TheKernelsInsideIsRefused) {
  expect_refused({{"bpf", SYS_bpf, {-1}},
                  {"perf_event_open", SYS_perf_event_open},
                  {"userfaultfd", SYS_userfaultfd, {-1}},
                  {"syslog", SYS_syslog, {999}},
                  {"keyctl", SYS_keyctl, {9999}},
                  {"add_key", SYS_add_key},
                  {"request_key", SYS_request_key}},
                 EPERM);
}

// A kernel may have these switched off for root too, so there is nothing to compare with.
TEST(Seccomp, ModulesAndOtherKernelsAreRefused) {
  for (const Call& call : std::vector<Call>{{"init_module", SYS_init_module},
                                            {"finit_module", SYS_finit_module, {-1}},
                                            {"delete_module", SYS_delete_module},
                                            {"kexec_load", SYS_kexec_load, {0, 0, 0, -1}},
                                            {"lookup_dcookie", SYS_lookup_dcookie}}) {
    EXPECT_EQ(errno_of(call, sandbox_filter()), EPERM) << call.name;
  }
}

TEST(Seccomp, OtherProcessesMemoryAndDescriptorsAreRefused) {
  expect_refused({{"process_vm_readv", SYS_process_vm_readv, {getpid(), 0, 0, 0, 0, 1}},
                  {"process_vm_writev", SYS_process_vm_writev, {getpid(), 0, 0, 0, 0, 1}},
                  {"kcmp", SYS_kcmp, {getpid(), getpid(), 99}},
                  {"pidfd_getfd", SYS_pidfd_getfd, {-1, -1, 1}},
                  {"ptrace attach", SYS_ptrace, {PTRACE_ATTACH, 0x7fffffff}},
                  {"ptrace seize", SYS_ptrace, {PTRACE_SEIZE, 0x7fffffff}}},
                 EPERM);
}

TEST(Seccomp, TheMachinesOwnSettingsAreRefused) {
  expect_refused({{"settimeofday", SYS_settimeofday, {1}},
                  {"clock_settime", SYS_clock_settime, {-1}},
                  {"adjtimex", SYS_adjtimex},
                  {"clock_adjtime", SYS_clock_adjtime},
                  {"sethostname", SYS_sethostname, {0, -1}},
                  {"setdomainname", SYS_setdomainname, {0, -1}},
                  {"reboot", SYS_reboot},
                  {"swapon", SYS_swapon, {0, -1}},
                  {"swapoff", SYS_swapoff},
                  {"acct", SYS_acct, {1}},
                  {"quotactl", SYS_quotactl, {-1}},
                  {"quotactl_fd", SYS_quotactl_fd, {-1}},
                  {"nfsservctl", SYS_nfsservctl},
                  {"vhangup", SYS_vhangup}},
                 EPERM);
}

TEST(Seccomp, NoNewNamespaceByAnyWay) {
  for (const long flag :
       {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
    // Without the filter a thread that shares no signal handlers is invalid, so no process comes of it.
    expect_refused({{"clone", SYS_clone, {flag | CLONE_THREAD}},
                    {"clone, upper half", SYS_clone, {flag | CLONE_THREAD | (1L << 40)}},
                    {"unshare", SYS_unshare, {flag}},
                    {"unshare with more", SYS_unshare, {flag | CLONE_FILES}}},
                   EPERM);
  }
  expect_refused({{"unshare time", SYS_unshare, {0x80}}, {"setns", SYS_setns, {-1}}}, EPERM);
  expect_refused({{"clone3", SYS_clone3}}, ENOSYS);
  EXPECT_EQ(errno_of({"unshare files", SYS_unshare, {CLONE_FILES | CLONE_FS}}, sandbox_filter()), 0);
}

TEST(Seccomp, IoUringIsNotThere) {
  if (errno_of({"io_uring_setup", SYS_io_uring_setup}, {}) == ENOSYS) GTEST_SKIP() << "this kernel has none";
  expect_refused({{"io_uring_setup", SYS_io_uring_setup},
                  {"io_uring_enter", SYS_io_uring_enter, {-1}},
                  {"io_uring_register", SYS_io_uring_register, {-1}}},
                 ENOSYS);
}

TEST(Seccomp, CallsNewerThanTheListAreNotThere) {
  constexpr long kMseal = 462;
  for (const long number : {457L, kMseal, 470L, 1000L, 5000L, -1L}) {
    EXPECT_EQ(errno_of({"new", number}, sandbox_filter()), ENOSYS) << number;
  }
  if (errno_of({"mseal", kMseal}, {}) != ENOSYS) expect_refused({{"mseal", kMseal}}, ENOSYS);
}

#if defined(__x86_64__)
TEST(Seccomp, CallsOfAnotherArchitectureKill) {
  EXPECT_EQ(errno_of({"x32 getpid", 0x40000000 | SYS_getpid}, sandbox_filter()), kKilled + SIGSYS);
  EXPECT_NE(errno_of({"x32 getpid", 0x40000000 | SYS_getpid}, {}), kKilled + SIGSYS);
  const auto i386_getpid = [] {
    long result = 20;
    asm volatile("int $0x80" : "+a"(result)::"memory");
    return result;
  };
  EXPECT_EQ(in_child(sandbox_filter(), i386_getpid), kKilled + SIGSYS);
  EXPECT_NE(in_child({}, i386_getpid), kKilled + SIGSYS);
  expect_refused({{"iopl", SYS_iopl, {99}}, {"ioperm", SYS_ioperm, {-1, 1, 0}}}, EPERM);
}
#endif

TEST(Seccomp, TerminalsTakeNoTypingAlsoNotByTheUpperHalf) {
  for (const long request : {TIOCSTI, TIOCLINUX, TIOCSETD}) {
    expect_refused({{"ioctl", SYS_ioctl, {-1, request}},
                    {"ioctl, sign extended", SYS_ioctl, {-1, request | ~0xffffffffL}},
                    {"ioctl, upper half", SYS_ioctl, {-1, request | (1L << 32)}}},
                   EPERM);
  }
  for (const long request : {long{TCGETS}, long{TIOCGWINSZ}, long{FIONREAD}, 0L, -1L}) {
    EXPECT_EQ(errno_of({"ioctl", SYS_ioctl, {-1, request}}, sandbox_filter()), EBADF) << request;
  }
}

TEST(Seccomp, OnlyHarmlessPersonalities) {
  expect_refused({{"PER_LINUX32", SYS_personality, {PER_LINUX32}},
                  {"READ_IMPLIES_EXEC", SYS_personality, {READ_IMPLIES_EXEC}},
                  {"with more", SYS_personality, {ADDR_NO_RANDOMIZE | MMAP_PAGE_ZERO}}},
                 EPERM);
  for (const long allowed : {0L, long{ADDR_NO_RANDOMIZE}, 0xffffffffL}) {
    EXPECT_EQ(errno_of({"personality", SYS_personality, {allowed}}, sandbox_filter()), 0) << allowed;
  }
}

Call socket_call(long family, long type, long protocol) { return {"socket", SYS_socket, {family, type, protocol}}; }

TEST(Seccomp, OnlyOrdinarySocketFamilies) {
  expect_refused({socket_call(AF_PACKET, SOCK_RAW, 0),
                  socket_call(AF_PACKET | (1L << 32), SOCK_RAW, 0),
                  socket_call(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT),
                  socket_call(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
                  {"socketpair", SYS_socketpair, {AF_INET, SOCK_STREAM}}},
                 EAFNOSUPPORT);
  for (long family = 0; family < 64; ++family) {
    const int got = errno_of(socket_call(family, SOCK_STREAM | SOCK_DGRAM, 0), sandbox_filter());
    const bool listed = family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
    EXPECT_EQ(got == EAFNOSUPPORT, !listed) << "family " << family << " gave " << got;
  }
  EXPECT_EQ(errno_of(socket_call(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), sandbox_filter()), 0);
  EXPECT_EQ(errno_of(socket_call(AF_UNIX, SOCK_STREAM, 0), sandbox_filter()), 0);
  EXPECT_EQ(errno_of(socket_call(AF_INET, SOCK_DGRAM, 0), sandbox_filter()), 0);
}

TEST(Seccomp, AHostProcessHasNoWayToOthersOfItsUser) {
  for (const Filter filter : {host_process_filter(), host_process_filter_without_network()}) {
    expect_refused({socket_call(AF_UNIX, SOCK_STREAM, 0), socket_call(AF_UNIX, SOCK_DGRAM, 0)}, EAFNOSUPPORT, filter);
    expect_refused({{"shmget", SYS_shmget, {1, 0, 0}},
                    {"msgget", SYS_msgget, {1, 0}},
                    {"semget", SYS_semget, {1, 0, 0}},
                    {"mq_open", SYS_mq_open},
                    {"prlimit64", SYS_prlimit64, {getpid(), RLIMIT_CPU}}},
                   EPERM, filter);
    EXPECT_EQ(errno_of({"prlimit64", SYS_prlimit64, {0, RLIMIT_CPU}}, filter), 0);
    EXPECT_EQ(in_child(filter, [] { return socketpair(AF_UNIX, SOCK_STREAM, 0, std::array<int, 2>{}.data()); }), 0);
  }
}

TEST(Seccomp, WithoutNetworkThereIsNoSocketAtAll) {
  for (const long family : {AF_INET, AF_INET6, AF_NETLINK}) {
    const Call call = socket_call(family, SOCK_DGRAM, 0);
    expect_refused({call}, EAFNOSUPPORT, host_process_filter_without_network());
    EXPECT_EQ(errno_of(call, host_process_filter()), 0);
  }
}

// With arguments that are wrong, so that the answer is the kernel's own.
TEST(Seccomp, WhatTheGuestNeedsAnswersAsWithoutAFilter) {
  const std::vector<Call> calls{{"close_range", SYS_close_range, {2, 1}},
                                {"epoll_create1", SYS_epoll_create1, {-1}},
                                {"epoll_ctl", SYS_epoll_ctl, {-1}},
                                {"memfd_create", SYS_memfd_create},
                                {"openat2", SYS_openat2, {-1}},
                                {"pidfd_open", SYS_pidfd_open, {-1}},
                                {"pidfd_send_signal", SYS_pidfd_send_signal, {-1}},
                                {"prctl", SYS_prctl, {-1}},
                                {"renameat2", SYS_renameat2, {-1, 0, -1}},
                                {"rt_sigaction", SYS_rt_sigaction, {-1}},
                                {"signalfd4", SYS_signalfd4, {-1}},
                                {"splice", SYS_splice, {-1, 0, -1, 0, 1}},
                                {"statx", SYS_statx, {-1}},
                                {"utimensat", SYS_utimensat, {-1}},
                                {"waitid", SYS_waitid, {-1}}};
  for (const Filter filter : {sandbox_filter(), host_process_filter(), host_process_filter_without_network()}) {
    for (const Call& call : calls) EXPECT_EQ(errno_of(call, filter), errno_of(call, {})) << call.name;
  }
}

// A real program under a filter; its output.
std::string run(const std::string& script, Filter filter) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (install_filter(filter)) execlp("bash", "bash", "-c", script.c_str(), nullptr);
    _exit(255);
  }
  close(ends[1]);
  std::string out;
  std::array<char, 4096> some{};
  for (ssize_t n = 0; (n = read(ends[0], some.data(), some.size())) > 0;) out.append(some.data(), n);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return out;
}

bool has(const std::string& program) { return system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0; }

TEST(Seccomp, AShellWithAPipelineRuns) {
  for (const Filter filter : {sandbox_filter(), host_process_filter(), host_process_filter_without_network()}) {
    EXPECT_EQ(
        run("seq 100 | grep 7 | wc -l; cat <(echo sub); f=$(mktemp) && rm $f && sleep 0 & wait $! && echo $?", filter),
        "19\nsub\n0\n");
  }
}

TEST(Seccomp, PythonRunsThreadsAndProcesses) {
  if (!has("python3")) GTEST_SKIP() << "there is no python3";
  const std::string script =
      "python3 -c 'import threading, subprocess, asyncio\n"
      "seen = []\n"
      "all = [threading.Thread(target=seen.append, args=(i,)) for i in range(8)]\n"
      "[t.start() for t in all]; [t.join() for t in all]\n"
      "print(len(seen), subprocess.check_output([\"echo\", \"hi\"]).decode(), asyncio.run(asyncio.sleep(0, 5)))'";
  for (const Filter filter : {sandbox_filter(), host_process_filter(), host_process_filter_without_network()}) {
    EXPECT_EQ(run(script, filter), "8 hi\n 5\n");
  }
}

TEST(Seccomp, NamesResolveAndLoopbackConnects) {
  if (!has("python3")) GTEST_SKIP() << "there is no python3";
  const std::string script =
      "python3 -c 'import socket\n"
      "a = socket.getaddrinfo(\"localhost\", 80, socket.AF_INET, 0, 0, socket.AI_ADDRCONFIG)[0][4][0]\n"
      "s = socket.create_server((\"127.0.0.1\", 0)); c = socket.create_connection(s.getsockname())\n"
      "s.accept()[0].send(b\"over\"); print(a, c.recv(9).decode())'";
  EXPECT_EQ(run(script, sandbox_filter()), "127.0.0.1 over\n");
  EXPECT_EQ(run(script, host_process_filter()), "127.0.0.1 over\n");
}

TEST(Seccomp, ADebuggerStartsWhatItDebugs) {
  const auto trace = [] {
    const pid_t child = fork();
    if (child == 0) {
      ptrace(PTRACE_TRACEME, 0, 0, 0);
      raise(SIGSTOP);
      _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status) || ptrace(PTRACE_CONT, child, 0, 0) < 0) return -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : -1;
  };
  EXPECT_EQ(in_child(sandbox_filter(), trace), 0);
}

}  // namespace
}  // namespace cove::os
