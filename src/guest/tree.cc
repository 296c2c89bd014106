#include "guest/tree.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "os/descendants.h"
#include "os/proc_stat.h"

namespace cove::guest {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 2000ms;  // with what was told to end

// What the reaper writes: a fixed head, then `text_bytes` of text.
enum class ReportKind : int { started, not_forked, not_executed, failed, exited };
struct Report {
  ReportKind kind;
  int first, second;
  int text_bytes;
};

void report(int fd, ReportKind kind, int first, int second) {
  const Report head{kind, first, second, 0};
  [[maybe_unused]] const ssize_t n = write(fd, &head, sizeof(head));
}

// Not in a reaper: it allocates.
void report_failure(int fd, const Error& error) {
  const Report head{ReportKind::failed, static_cast<int>(error.code), 0, static_cast<int>(error.message.size())};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  bytes += error.message;
  [[maybe_unused]] const ssize_t n = write(fd, bytes.data(), bytes.size());
}

// Waited for, not handled: a handler could have run just before a call that then waits for ever.
constexpr int kGuestIsGone = SIGUSR1;
sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, kGuestIsGone);
  return set;
}

// What is sent to a whole group or by a wrong guess must not end it. The guest's death must not be missed between fork
// and prctl.
void become_reaper(pid_t guest) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  prctl(PR_SET_NAME, "cove-reaper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, kGuestIsGone);
  if (getppid() != guest) _exit(0);
}

// Other reapers are in the same memory, so without allocation. Whoever loses its parent becomes our child: in the end
// there is none. Without the kernel's list of them (CONFIG_PROC_CHILDREN) the risk is taken.
[[noreturn]] void kill_all() {
  const Deadline deadline = Deadline::after(10s);
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/children", getpid());
  while (!deadline.passed()) {
    const int list = open(path.data(), O_RDONLY | O_CLOEXEC);
    if (list < 0) break;
    std::array<char, 4096> pids;
    const ssize_t n = read(list, pids.data(), pids.size() - 1);
    close(list);
    pids[n > 0 ? static_cast<std::size_t>(n) : 0] = '\0';
    for (char* at = pids.data(); *at != '\0';) {
      if (const long pid = std::strtol(at, &at, 10); pid > 0 && *at == ' ') kill(static_cast<pid_t>(pid), SIGKILL);
      if (*at != '\0') ++at;
    }
    pid_t reaped = 0;
    do reaped = waitpid(-1, nullptr, WNOHANG);
    while (reaped > 0);
    if (reaped < 0 && errno == ECHILD) _exit(0);
    usleep(1000);
  }
  [[maybe_unused]] const auto ended = os::kill_descendants(getpid(), deadline);
  _exit(0);
}

void reap_until_empty(pid_t main, pid_t guest, int fd) {
  const sigset_t awaited = awaited_signals();
  while (true) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0) _exit(0);
    // A command may send it, too.
    if (info.si_pid == 0 && sigwaitinfo(&awaited, nullptr) == kGuestIsGone && getppid() != guest) kill_all();
    if (info.si_pid == 0 || info.si_pid != main) continue;
    const bool by_signal = info.si_code != CLD_EXITED;
    report(fd, ReportKind::exited, by_signal ? 128 + info.si_status : info.si_status, by_signal ? info.si_status : 0);
  }
}

}  // namespace

Tree::Launch::Launch(os::ExecSpec the_spec, int the_report)
    : spec(std::move(the_spec)), exec(spec), report(the_report), guest(getpid()) {}

int Tree::be_reaper(void* launch) {
  const auto& from = *static_cast<const Launch*>(launch);
  become_reaper(from.guest);
  run_program(from);
  return 0;
}

// vfork: the child only walks prepared steps.
void Tree::run_program(const Launch& launch) {
  const int fd = launch.report;
  const pid_t guest = launch.guest;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) _exit(1);
  const pid_t main = vfork();
  if (main == 0) {
    launch.exec.run(ends[1]);  // NOLINT(clang-analyzer-unix.Vfork): neither allocates nor returns into our frame
    _exit(127);
  }
  close(ends[1]);
  if (main < 0) {
    report(fd, ReportKind::not_forked, errno, 0);
    _exit(1);
  }
  os::PreparedExec::Failed failed;
  const bool runs = !os::PreparedExec::read_failed(ends[0], failed);
  // From here on `launch` may be gone.
  if (runs)
    report(fd, ReportKind::started, main, 0);
  else
    report(fd, ReportKind::not_executed, failed.step, failed.error);
  os::close_other_fds({}, fd);
  for (const int standard : {0, 1, 2}) close(standard);
  reap_until_empty(runs ? main : 0, guest, fd);
}

Tree::Tree(Trees& trees, pid_t reaper, UniqueFd report)
    : trees_(trees), loop_(trees.loop), reaper_(reaper), handle_(os::open_pidfd(reaper)), report_(std::move(report)) {
  trees_.reapers.insert(reaper_);
  loop_.watch(report_.get(), EPOLLIN, [this](std::uint32_t) { read_report(); });
}

struct Tree::Pipe {
  UniqueFd in, out;
};

Result<Tree::Pipe> Tree::make_report() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("start a command: pipe");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<std::unique_ptr<Tree>> Tree::start(Trees& trees, os::ExecSpec spec) {
  spec.signals_are_clean = true;  // main() sees to that
  spec.most_processes = trees.most_processes;
  spec.soft_files = trees.soft_files;
  std::optional<os::Cgroup> cgroup;
  if (!trees.cgroup.empty()) {
    cgroup = std::exchange(trees.spare_cgroup, std::nullopt);
    if (!cgroup) {
      COVE_TRY(cgroup, os::Cgroup::make(trees.cgroup, "command-" + std::to_string(++trees.last_cgroup)));
    }
    spec.cgroup_procs = cgroup->procs();
  }
  COVE_TRY(Pipe pipe, make_report());
  auto launch = std::make_unique<Launch>(std::move(spec), pipe.out.get());
  auto process = os::LightProcess::start(be_reaper, launch.get());
  if (!process) return fail(std::move(process).error().because("start a command"));
  std::unique_ptr<Tree> tree(new Tree(trees, process->pid(), std::move(pipe.in)));
  tree->process_ = std::move(*process);
  tree->launch_ = std::move(launch);
  tree->cgroup_ = std::move(cgroup);
  return tree;
}

Result<std::unique_ptr<Tree>> Tree::start(Trees& trees, const Work& work) {
  COVE_TRY(Pipe pipe, make_report());
  const pid_t guest = getpid(), pid = fork();
  if (pid < 0) return fail_errno("start a command: fork");
  if (pid == 0) {
    become_reaper(guest);
    report(pipe.out.get(), ReportKind::started, getpid(), 0);
    const Error error = work();
    if (!error.message.empty())
      report_failure(pipe.out.get(), error);
    else
      report(pipe.out.get(), ReportKind::exited, 0, 0);
    _exit(0);
  }
  std::unique_ptr<Tree> tree(new Tree(trees, pid, std::move(pipe.in)));
  tree->alone_ = true;
  return tree;
}

Tree::~Tree() {
  loop_.cancel(timer_);
  trees_.reapers.erase(reaper_);
  if (!report_ && cgroup_ && !trees_.spare_cgroup && cgroup_->is_empty()) trees_.spare_cgroup = std::move(cgroup_);
  if (!report_) return;
  loop_.forget(report_.get());
  const bool alone_in_memory = wait_for_report(kPatience);
  if (alone_in_memory && reaper_has_ended(0ms)) return;
  [[maybe_unused]] const auto ended = os::kill_descendants(reaper_, Deadline::after(kPatience));
  kill_reaper();
  if (!handle_) waitpid(reaper_, nullptr, 0);  // it is ours, and nothing it does outlasts the signal
  if (!alone_in_memory || (handle_ && !reaper_has_ended(kPatience))) leave_reaper();
}

// Until the first one comes, or both have let go of the pipe, a second process may be in our memory and on the reaper's
// stack: the one that is to become the program. If the reaper were killed at that moment, nobody would know of it.
bool Tree::wait_for_report(std::chrono::milliseconds patience) const {
  pollfd first{report_.get(), POLLIN, 0};
  return main_ != 0 || exited_ || poll(&first, 1, static_cast<int>(patience.count())) > 0;
}

bool Tree::reaper_has_ended(std::chrono::milliseconds within) const {
  pollfd ended{handle_.get(), POLLIN, 0};
  return handle_ && poll(&ended, 1, static_cast<int>(within.count())) > 0;
}

// What it may still look at stays.
void Tree::leave_reaper() {
  process_.leave();
  [[maybe_unused]] const Launch* left = launch_.release();
}

void Tree::kill_reaper() const {
  if (handle_)
    syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
  else
    kill(reaper_, SIGKILL);
}

void Tree::read_report() {
  std::array<char, 4096> buffer;
  const ssize_t n = read(report_.get(), buffer.data(), buffer.size());
  if (n < 0) return;
  if (n == 0) return reaper_gone();
  pending_.append(buffer.data(), static_cast<std::size_t>(n));
  while (pending_.size() >= sizeof(Report)) {
    Report head{};
    std::memcpy(&head, pending_.data(), sizeof(head));
    const std::size_t size = sizeof(head) + static_cast<std::size_t>(head.text_bytes);
    if (pending_.size() < size) return;
    const std::string whole = pending_.substr(0, size);
    pending_.erase(0, size);
    handle_report(whole);
  }
}

void Tree::handle_report(std::string_view whole) {
  Report head{};
  std::memcpy(&head, whole.data(), sizeof(head));
  switch (head.kind) {
    case ReportKind::started:
      main_ = head.first;
      launch_.reset();
      if (events_.started) events_.started();
      break;
    case ReportKind::not_forked: return fail_start(errno_error(head.first, "fork"));
    case ReportKind::not_executed:
      return fail_start(os::PreparedExec::explain({head.first, head.second}, launch_->spec));
    case ReportKind::failed:
      return fail_start({static_cast<Errc>(head.first), std::string(whole.substr(sizeof(head)))});
    case ReportKind::exited:
      exited_ = true;
      if (events_.exited) events_.exited({.code = head.first, .signal = head.second});
      break;
  }
}

void Tree::fail_start(const Error& error) {
  exited_ = true;
  if (events_.failed) events_.failed(error);
}

void Tree::reaper_gone() {
  loop_.forget(report_.get());
  loop_.cancel(timer_);
  report_.reset();
  trees_.reapers.erase(reaper_);
  if (!exited_) {
    kill_strays();
    exited_ = true;
    if (events_.exited) events_.exited({.code = 128 + SIGKILL, .signal = SIGKILL});
  }
  if (events_.gone) events_.gone();
}

// A reaper that was killed leaves its processes to the guest, which is a subreaper too: they become children of its
// own, as all below them do when these are gone. What other commands start at this moment is a child of theirs.
void Tree::kill_strays() {
  const Deadline deadline = Deadline::after(kPatience);
  for (std::size_t found = 1; found > 0 && !deadline.passed();) {
    found = 0;
    for (const pid_t pid : os::descendants(getpid())) {
      if (trees_.reapers.count(pid) > 0 || os::stat_of(pid).parent != getpid()) continue;
      kill(pid, SIGKILL);
      ++found;
    }
    if (found > 0) usleep(1000);
  }
}

void Tree::signal_group(int number) {
  if (main_ > 0 && !exited_) kill(-main_, number);
}

void Tree::end(Clock::duration grace) {
  if (!report_) return;
  if (alone_) kill_reaper();
  loop_.cancel(timer_);
  terminate(Clock::now() + grace);
}

// Each program gets one TERM. Looking once is not enough: a shell may be just about to start what it will wait for.
void Tree::terminate(Clock::time_point kill_at) {
  if (!reaper_has_ended(0ms)) os::terminate_newcomers(reaper_, told_);
  const auto left = kill_at - Clock::now();
  if (left <= Clock::duration::zero()) return kill_until_gone();
  const auto pause = std::min<Clock::duration>(left, 20ms);
  timer_ = loop_.after(pause, [this, kill_at] { terminate(kill_at); });
}

void Tree::kill_until_gone() {
  if ((!cgroup_ || !cgroup_->kill()) && !reaper_has_ended(0ms)) os::signal_descendants(reaper_, SIGKILL);
  timer_ = loop_.after(20ms, [this] { kill_until_gone(); });
}

}  // namespace cove::guest
