#include "os/exec.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace cove::os {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::vector<std::string> find_candidates(const ExecSpec& spec) {
  const std::string& program = spec.program.empty() ? spec.argv.at(0) : spec.program;
  if (program.find('/') != std::string::npos) return {program};
  std::string path = find_env(spec.env, "PATH");
  if (path.empty()) path = kDefaultPath;
  std::vector<std::string> found;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string directory = path.substr(at, end - at);
    found.push_back((directory.empty() ? "." : directory) + "/" + program);
    at = end + 1;
  }
  return found;
}

std::vector<char*> as_pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> directories_to_try(const ExecSpec& spec) {
  std::vector<std::string> all;
  if (spec.cwd.empty()) return all;
  all.push_back(spec.cwd);
  if (!spec.nearest_cwd) return all;
  for (std::string at = spec.cwd; at.size() > 1;) {
    const std::size_t slash = at.rfind('/');
    if (slash == std::string::npos) break;
    at.resize(slash == 0 ? 1 : slash);
    all.push_back(at);
  }
  return all;
}

// Those that are open, by the kernel's list of them: the limit may be a million. No allocation, so no readdir.
bool close_listed(unsigned first, unsigned last) {
  const int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return false;
  alignas(dirent64) std::array<char, 2048> entries;
  long size = 0;
  while ((size = syscall(SYS_getdents64, directory, entries.data(), entries.size())) > 0) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      const auto fd = static_cast<unsigned>(std::atoi(entry->d_name));
      if (fd >= first && fd <= last && static_cast<int>(fd) != directory) close(static_cast<int>(fd));
      at += entry->d_reclen;
    }
  }
  close(directory);
  return size == 0;
}

void close_range_or_each(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0 || close_listed(first, last)) return;
  const long limit = sysconf(_SC_OPEN_MAX);
  for (unsigned fd = first; fd <= last && static_cast<long>(fd) < limit; ++fd) close(static_cast<int>(fd));
}

}  // namespace

std::string find_env(const std::vector<std::string>& env, std::string_view key) {
  for (const std::string& entry : env) {
    if (entry.size() > key.size() && entry.compare(0, key.size(), key) == 0 && entry[key.size()] == '=') {
      return entry.substr(key.size() + 1);
    }
  }
  return "";
}

void close_other_fds(const std::vector<FdGift>& keep, int also_keep) {
  unsigned next = 3;
  // `keep` is sorted by number; also_keep is woven in.
  bool also_done = also_keep < 3;
  for (const FdGift& gift : keep) {
    if (!also_done && also_keep < gift.as) {
      close_range_or_each(next, static_cast<unsigned>(also_keep) - 1);
      next = static_cast<unsigned>(also_keep) + 1;
      also_done = true;
    }
    if (gift.as < 3) continue;
    if (static_cast<unsigned>(gift.as) > next) close_range_or_each(next, static_cast<unsigned>(gift.as) - 1);
    next = static_cast<unsigned>(gift.as) + 1;
  }
  if (!also_done) {
    if (static_cast<unsigned>(also_keep) > next) close_range_or_each(next, static_cast<unsigned>(also_keep) - 1);
    next = std::max(next, static_cast<unsigned>(also_keep) + 1);
  }
  close_range_or_each(next, ~0U);
}

// By the system call, because glibc's signal() refuses 32 and 33, which its own posix_spawn leaves ignored in every
// program that it starts (and in their children). A kernel sigaction of all zeros is the default.
void reset_signals() {
  constexpr std::array<unsigned long, 8> default_action{};
  for (int sig = 1; sig < NSIG; ++sig) syscall(SYS_rt_sigaction, sig, default_action.data(), nullptr, NSIG / 8);
  unblock_signals();
}

void unblock_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void disregard_signal(int signal) {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

PreparedExec::PreparedExec(const ExecSpec& spec)
    : candidates_(find_candidates(spec)),
      argv_(as_pointers(spec.argv)),
      env_(as_pointers(spec.env)),
      parents_(directories_to_try(spec)),
      fds_(spec.fds),
      parent_(getpid()),
      spec_(spec) {
  std::sort(fds_.begin(), fds_.end(), [](const FdGift& a, const FdGift& b) { return a.as < b.as; });
}

// First everything is lifted out of the way of the target numbers, then put in place: a gift's source may be
// another gift's target.
bool PreparedExec::arrange_descriptors() const {
  const int above = fds_.empty() ? 3 : std::max(fds_.back().as + 1, 3);
  for (FdGift& gift : fds_) {
    gift.from = fcntl(gift.from, F_DUPFD, above);
    if (gift.from < 0) return false;
  }
  return std::all_of(fds_.begin(), fds_.end(), [](const FdGift& gift) { return dup2(gift.from, gift.as) >= 0; });
}

void PreparedExec::run(int error_fd) const {
  Step step = Step::cgroup;
  const auto give_up = [&] {
    const std::array<int, 2> report{static_cast<int>(step), errno};
    [[maybe_unused]] const auto n = write(error_fd, report.data(), sizeof(report));
  };
  if (spec_.cgroup_procs >= 0 && write(spec_.cgroup_procs, "0", 1) != 1) return give_up();
  // While the ruleset's descriptor is there. Nothing below opens a file but exec.
  step = Step::rights;
  if (spec_.walls != nullptr && !give_up_rights(*spec_.walls)) return give_up();
  step = Step::descriptors;
  const int lifted = fcntl(error_fd, F_DUPFD_CLOEXEC, fds_.empty() ? 10 : fds_.back().as + 10);
  if (lifted < 0) return give_up();
  error_fd = lifted;
  if (!arrange_descriptors()) return give_up();
  close_other_fds(fds_, error_fd);
  step = Step::session;
  if (spec_.new_session && setsid() < 0 && errno != EPERM) return give_up();
  step = Step::terminal;
  if (spec_.controlling_terminal && ioctl(0, TIOCSCTTY, 0) < 0) return give_up();
  step = Step::user;
  if (spec_.switch_user &&
      (setgroups(spec_.groups.size(), spec_.groups.data()) < 0 || setgid(spec_.gid) < 0 || setuid(spec_.uid) < 0)) {
    return give_up();
  }
  // After the change of user, which would undo it. A parent that died before is not told any more: look again.
  step = Step::parent;
  if (spec_.parent_death_signal != 0) {
    if (prctl(PR_SET_PDEATHSIG, spec_.parent_death_signal) < 0) return give_up();
    errno = ESRCH;
    if (getppid() != parent_) return give_up();
  }
  step = Step::directory;
  bool entered = parents_.empty();
  for (const std::string& directory : parents_) {
    if (chdir(directory.c_str()) == 0) {
      entered = true;
      break;
    }
  }
  if (!entered) return give_up();
  if (spec_.umask >= 0) ::umask(static_cast<mode_t>(spec_.umask));
  if (spec_.most_processes != RLIM_INFINITY) {  // only ever lowered, so it cannot fail
    const rlimit most{spec_.most_processes, spec_.most_processes};
    setrlimit(RLIMIT_NPROC, &most);
  }
  if (rlimit files{}; spec_.soft_files != RLIM_INFINITY && getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = spec_.soft_files;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (spec_.signals_are_clean)
    unblock_signals();
  else
    reset_signals();
  step = Step::calls;
  if (spec_.walls != nullptr && !give_up_calls(*spec_.walls)) return give_up();
  step = Step::exec;
  int most_telling = ENOENT;
  for (const std::string& path : candidates_) {
    execve(path.c_str(), argv_.data(), env_.data());
    if (errno != ENOENT && errno != ENOTDIR) most_telling = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  errno = most_telling;
  give_up();
}

bool PreparedExec::read_failed(int error_fd, Failed& failed) {
  std::array<int, 2> report{};
  ssize_t n = 0;
  do n = read(error_fd, report.data(), sizeof(report));
  while (n < 0 && errno == EINTR);
  if (n == sizeof(report)) failed = {report[0], report[1]};
  return n != 0;
}

Result<void> PreparedExec::read_failure(int error_fd, const ExecSpec& spec) {
  Failed failed;
  if (!read_failed(error_fd, failed)) return {};
  return fail(explain(failed, spec));
}

Error PreparedExec::explain(const Failed& failed, const ExecSpec& spec) {
  if (failed.step < 0) return {Errc::internal, "spawn " + spec.argv.at(0) + ": the child ended before exec"};
  switch (static_cast<Step>(failed.step)) {
    case Step::cgroup: return errno_error(failed.error, "enter the command's cgroup");
    case Step::rights: return errno_error(failed.error, "give up rights before " + spec.argv.at(0));
    case Step::calls: return errno_error(failed.error, "install the system call filter of " + spec.argv.at(0));
    case Step::descriptors: return errno_error(failed.error, "arrange descriptors for " + spec.argv.at(0));
    case Step::session: return errno_error(failed.error, "setsid");
    case Step::terminal: return errno_error(failed.error, "take the controlling terminal");
    case Step::directory: return errno_error(failed.error, "enter directory " + spec.cwd);
    case Step::user: return errno_error(failed.error, "switch to user id " + std::to_string(spec.uid));
    case Step::parent: return errno_error(failed.error, "follow the parent");
    case Step::exec: break;
  }
  return errno_error(failed.error, "run " + (spec.program.empty() ? spec.argv.at(0) : spec.program));
}

}  // namespace cove::os
