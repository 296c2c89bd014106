#include "image/run_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "image/url.h"

namespace cove::image {
namespace {

constexpr std::size_t kMostWords = 4096;

// A file in memory takes whatever the program writes, without a thread of ours that must read it.
Result<UniqueFd> in_memory(const std::string& bytes) {
  UniqueFd file(memfd_create("cove", MFD_CLOEXEC));
  if (!file) return fail_errno("memfd_create");
  if (!bytes.empty() && ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return fail_errno("write to memory");
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string last_line(int fd) {
  const off_t size = lseek(fd, 0, SEEK_END);
  lseek(fd, size > static_cast<off_t>(kMostWords) ? size - static_cast<off_t>(kMostWords) : 0, SEEK_SET);
  std::string text = read_some(fd, kMostWords);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  return printable(text);
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

// Kills the child (a pidfd) when it is asked to, or when the time is over.
class Watch {
 public:
  Watch(int child, Deadline deadline, const std::stop_token& stop)
      : thread_([child, deadline, stop, this](const std::stop_token& over) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any changed;
          const std::stop_callback wake(stop, [&] { changed.notify_all(); });
          while (!over.stop_requested() && !stop.stop_requested() && !deadline.passed()) {
            changed.wait_for(lock, over, std::chrono::milliseconds(200), [&] { return stop.stop_requested(); });
          }
          if (!over.stop_requested()) fired_ = os::signal_by_handle(child, SIGKILL);
        }) {}
  bool fired() const { return fired_; }

 private:
  std::atomic<bool> fired_{false};
  std::jthread thread_;
};

}  // namespace

std::string read_some(int fd, std::size_t most_bytes) {
  std::string text;
  std::array<char, 16384> buffer;
  while (text.size() < most_bytes) {
    const ssize_t got = ::read(fd, buffer.data(), std::min(buffer.size(), most_bytes - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Result<ProgramEnd> run_program(const ProgramSpec& spec, const std::stop_token& stop,
                               const std::function<void(int fd)>& read) {
  COVE_TRY(const UniqueFd in, in_memory(spec.input));
  COVE_TRY(const UniqueFd err, in_memory(""));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("make a pipe");
  UniqueFd reading(ends[0]), writing(ends[1]);
  os::ExecSpec exec{.argv = spec.argv, .env = own_environment()};
  exec.fds = {{in.get(), 0}, {writing.get(), 1}, {err.get(), 2}};
  COVE_TRY(os::Child child, os::Child::spawn(exec));
  writing.reset();
  ProgramEnd end;
  {
    const Watch watch(child.pidfd(), spec.deadline, stop);
    read(reading.get());
    reading.reset();  // one that goes on writing gets SIGPIPE
    COVE_TRY(end.status, child.wait(Deadline::never()));
    if (stop.stop_requested()) return fail(Errc::cancelled, spec.argv[0] + " was interrupted");
    if (watch.fired()) return fail(Errc::timeout, spec.argv[0] + " took too long");
  }
  end.err = last_line(err.get());
  return end;
}

}  // namespace cove::image
