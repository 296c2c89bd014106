// Taking more than was given. Every amount is bounded by the caller: where there is no limit the host must survive.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// args: MiB.
Act memory(const Args& args) {
  const std::size_t wanted = std::stoul(args[0]);
  for (std::size_t got = 0; got < wanted; ++got) {
    void* piece = mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return refused("no more memory after " + std::to_string(got) + " MiB");
    std::memset(piece, 1, kMiB);
  }
  return did("took " + args[0] + " MiB");
}

// args: directory, MiB.
Act disk(const Args& args) {
  const std::string path = args[0] + "/cove-selftest-fill";
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return refused_by_errno("make a file in " + args[0]);
  const std::string piece(kMiB, 'x');
  const std::size_t wanted = std::stoul(args[1]);
  Act act = did("wrote " + args[1] + " MiB to " + args[0]);
  for (std::size_t got = 0; got < wanted * kMiB;) {
    const ssize_t n = write(file, piece.data(), piece.size());
    if (n > 0) got += static_cast<std::size_t>(n);
    if (n > 0) continue;
    act = refused_by_errno("write to " + args[0] + " after " + std::to_string(got / kMiB) + " MiB");
    break;
  }
  close(file);
  unlink(path.c_str());
  return act;
}

// args: how many processes.
Act processes(const Args& args) {
  const long wanted = std::stol(args[0]);
  std::vector<pid_t> made;
  Act act = did("started " + args[0] + " processes");
  while (static_cast<long>(made.size()) < wanted) {
    const pid_t pid = fork();
    if (pid == 0) {
      pause();
      _exit(0);
    }
    if (pid < 0) {
      act = refused_by_errno("fork after " + std::to_string(made.size()) + " processes");
      break;
    }
    made.push_back(pid);
  }
  for (const pid_t pid : made) kill(pid, SIGKILL);
  while (wait(nullptr) > 0) {}
  return act;
}

double cpu_seconds() {
  rusage mine{}, theirs{};
  getrusage(RUSAGE_SELF, &mine);
  getrusage(RUSAGE_CHILDREN, &theirs);
  const auto seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(mine.ru_utime) + seconds(mine.ru_stime) + seconds(theirs.ru_utime) + seconds(theirs.ru_stime);
}

// args: processors. Two processes burn for two seconds; more than half as much again as allowed is too much.
Act processors(const Args& args) {
  constexpr double kTime = 2;
  const double allowed = std::stod(args[0]) * kTime;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTime);
  const pid_t pid = fork();
  while (std::chrono::steady_clock::now() < end) {}
  if (pid == 0) _exit(0);
  if (pid > 0) waitpid(pid, nullptr, 0);
  const double used = cpu_seconds();
  const std::string text = std::to_string(used) + " s of processor time in " + std::to_string(kTime) + " s";
  return used > allowed * 1.5 ? did(text) : refused(text);
}

// Beyond the hard limit, which only the host's administrator may raise.
Act raise_limit(const Args&) {
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  const rlimit more{now.rlim_cur, now.rlim_max + 1};
  return by_result(setrlimit(RLIMIT_NOFILE, &more), "raise the hard limit of descriptors");
}

// Opens until it is stopped; args: how many are too many.
Act descriptors(const Args& args) {
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  const rlimit most{now.rlim_max, now.rlim_max};
  setrlimit(RLIMIT_NOFILE, &most);
  const long wanted = std::stol(args[0]);
  for (long got = 0; got < wanted; ++got) {
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return refused_by_errno("open after " + std::to_string(got));
  }
  return did("holds " + args[0] + " descriptors");
}

constexpr Entry kExhaustionEntries[] = {
    {"memory", memory},           {"disk", disk},
    {"processes", processes},     {"processors", processors},
    {"raise_limit", raise_limit}, {"descriptors", descriptors},
};

}  // namespace

std::span<const Entry> exhaustion_acts() { return kExhaustionEntries; }

}  // namespace cove::acts
