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
#include <cstring>
#include <utility>

#include "os/descendants.h"

namespace cove::guest {
namespace {

// What the reaper writes: a fixed head, then `text_bytes` of text.
enum class ReportKind : int { started, failed, exited };
struct Report {
  ReportKind kind;
  int first, second;
  int text_bytes;
};

void report(int fd, ReportKind kind, int first, int second, const std::string& text = "") {
  const Report head{kind, first, second, static_cast<int>(text.size())};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  bytes += text;
  [[maybe_unused]] const ssize_t n = write(fd, bytes.data(), bytes.size());
}

volatile std::sig_atomic_t parent_is_gone = 0;
void note_parent_gone(int) { parent_is_gone = 1; }

// What is sent to a whole group or by a wrong guess must not end it. The guest's death must not be missed between fork
// and prctl.
void become_reaper(pid_t guest) {
  struct sigaction action{};
  action.sa_handler = note_parent_gone;  // no SA_RESTART: waitid must return
  sigaction(SIGUSR1, &action, nullptr);
  os::disregard_signal(SIGTERM);
  os::disregard_signal(SIGINT);
  prctl(PR_SET_NAME, "cove-reaper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (getppid() != guest) _exit(0);
}

void reap_until_empty(pid_t main, int fd) {
  while (true) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED) < 0) {
      if (errno == EINTR && parent_is_gone != 0) {
        [[maybe_unused]] const auto ended = os::kill_descendants(getpid(), Deadline::after(std::chrono::seconds(10)));
        _exit(0);
      }
      if (errno == EINTR) continue;
      _exit(0);
    }
    if (info.si_pid != main) continue;
    const bool by_signal = info.si_code != CLD_EXITED;
    report(fd, ReportKind::exited, by_signal ? 128 + info.si_status : info.si_status, by_signal ? info.si_status : 0);
  }
}

// vfork: the child only walks prepared steps, and copying page tables would cost more than all of them.
void run_program(const os::PreparedExec& exec, const os::ExecSpec& spec, int fd) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) _exit(1);
  const pid_t main = vfork();
  if (main == 0) {
    exec.run(ends[1]);  // NOLINT(clang-analyzer-unix.Vfork): neither allocates nor returns into our frame
    _exit(127);
  }
  close(ends[1]);
  if (main < 0) {
    report(fd, ReportKind::failed, static_cast<int>(Errc::busy), 0, std::string("fork: ") + std::strerror(errno));
    _exit(1);
  }
  const auto started = os::PreparedExec::read_failure(ends[0], spec);
  if (started)
    report(fd, ReportKind::started, main, 0);
  else
    report(fd, ReportKind::failed, static_cast<int>(started.error().code), 0, started.error().message);
  os::close_other_fds({}, fd);
  for (const int standard : {0, 1, 2}) close(standard);
  reap_until_empty(started ? main : 0, fd);
}

}  // namespace

Tree::Tree(Trees& trees, pid_t reaper, UniqueFd report)
    : trees_(trees), loop_(trees.loop), reaper_(reaper), handle_(os::open_pidfd(reaper)), report_(std::move(report)) {
  trees_.reapers.insert(reaper_);
  loop_.watch(report_.get(), EPOLLIN, [this](std::uint32_t) { read_report(); });
}

Result<std::unique_ptr<Tree>> Tree::launch(Trees& trees, const std::function<void(int)>& reaper) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("start a command: pipe");
  UniqueFd in(ends[0]), out(ends[1]);
  fcntl(in.get(), F_SETFL, O_NONBLOCK);
  const pid_t guest = getpid();
  const pid_t pid = fork();
  if (pid < 0) return fail_errno("start a command: fork");
  if (pid == 0) {
    become_reaper(guest);
    reaper(out.get());
    _exit(0);
  }
  return std::unique_ptr<Tree>(new Tree(trees, pid, std::move(in)));
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
  const os::PreparedExec exec(spec);
  COVE_TRY(auto tree, launch(trees, [&](int fd) { run_program(exec, spec, fd); }));
  tree->cgroup_ = std::move(cgroup);
  return tree;
}

Result<std::unique_ptr<Tree>> Tree::start(Trees& trees, Work work) {
  auto tree = launch(trees, [&](int fd) {
    report(fd, ReportKind::started, getpid(), 0);
    const Error error = work();
    if (!error.message.empty())
      report(fd, ReportKind::failed, static_cast<int>(error.code), 0, error.message);
    else
      report(fd, ReportKind::exited, 0, 0);
  });
  if (tree) (*tree)->alone_ = true;
  return tree;
}

Tree::~Tree() {
  loop_.cancel(timer_);
  trees_.reapers.erase(reaper_);
  if (!report_ && cgroup_ && !trees_.spare_cgroup && cgroup_->is_empty()) trees_.spare_cgroup = std::move(cgroup_);
  if (!report_) return;
  loop_.forget(report_.get());
  if (!reaper_lives()) return;
  [[maybe_unused]] const auto ended = os::kill_descendants(reaper_, Deadline::after(std::chrono::seconds(2)));
  kill_reaper();
}

bool Tree::reaper_lives() const {
  pollfd ended{handle_.get(), POLLIN, 0};
  return !handle_ || poll(&ended, 1, 0) == 0;
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
      if (events_.started) events_.started();
      break;
    case ReportKind::failed:
      exited_ = true;
      if (events_.failed) {
        events_.failed(Error{static_cast<Errc>(head.first), std::string(whole.substr(sizeof(head)))});
      }
      break;
    case ReportKind::exited:
      exited_ = true;
      if (events_.exited) events_.exited({.code = head.first, .signal = head.second});
      break;
  }
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

// A reaper that was killed leaves its processes to the guest, which is a subreaper too: they are its descendants that
// are not below a living reaper.
void Tree::kill_strays() {
  const Deadline deadline = Deadline::after(std::chrono::seconds(2));
  for (std::size_t found = 1; found > 0 && !deadline.passed();) {
    std::set<pid_t> ours = trees_.reapers;
    for (const pid_t reaper : trees_.reapers) {
      for (const pid_t pid : os::descendants(reaper)) ours.insert(pid);
    }
    found = 0;
    for (const pid_t pid : os::descendants(getpid())) {
      if (ours.count(pid) > 0) continue;
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
  if (reaper_lives()) os::terminate_newcomers(reaper_, told_);
  const auto left = kill_at - Clock::now();
  if (left <= Clock::duration::zero()) return kill_until_gone();
  const auto pause = std::min<Clock::duration>(left, std::chrono::milliseconds(20));
  timer_ = loop_.after(pause, [this, kill_at] { terminate(kill_at); });
}

void Tree::kill_until_gone() {
  if ((!cgroup_ || !cgroup_->kill()) && reaper_lives()) os::signal_descendants(reaper_, SIGKILL);
  timer_ = loop_.after(std::chrono::milliseconds(20), [this] { kill_until_gone(); });
}

}  // namespace cove::guest
