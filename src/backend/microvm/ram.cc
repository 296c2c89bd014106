#include "backend/microvm/ram.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <vector>

#include "backend/microvm/files.h"

namespace cove::microvm {
namespace {

constexpr unsigned kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
constexpr std::size_t kPage = 4096;
// Of an entry of /proc/PID/pagemap.
constexpr std::uint64_t kPresent = 1ULL << 63, kSwapped = 1ULL << 62, kOfFile = 1ULL << 61;

Result<UniqueFd> make_saved(const std::string& path, off_t size) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ftruncate(file.get(), size) < 0) return fail_errno("make " + path);
  return file;
}

bool is_sealed(int fd, off_t size) {
  struct stat info{};
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (static_cast<unsigned>(seals) & kSeals) == kSeals && fstat(fd, &info) == 0 &&
         info.st_size == size;
}

// Who holds which: a line "PID DESCRIPTOR INODE" for each. A number that is another process's by now has no such file.
UniqueFd find_held(const std::string& list, off_t size) {
  std::ifstream lines(list);
  long pid = 0, fd = 0;
  unsigned long inode = 0;
  while (lines >> pid >> fd >> inode) {
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
    UniqueFd held(open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat info{};
    if (held && fstat(held.get(), &info) == 0 && info.st_ino == inode && is_sealed(held.get(), size)) return held;
  }
  return {};
}

void note_held(const std::string& list, int fd, bool first) {
  struct stat info{};
  if (fstat(fd, &info) < 0) return;
  const UniqueFd file(
      open(list.c_str(), O_WRONLY | O_CREAT | (first ? O_TRUNC : O_APPEND) | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file) dprintf(file.get(), "%d %d %lu\n", getpid(), fd, static_cast<unsigned long>(info.st_ino));
}

struct Area {
  std::uint64_t begin = 0, end = 0;
};

Result<Area> find_mapping(pid_t machine, int ram) {
  struct stat info{};
  if (fstat(ram, &info) < 0) return fail_errno("look at a machine's memory");
  std::ifstream maps("/proc/" + std::to_string(machine) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    Area area;
    std::uint64_t offset = 0, inode = 0;
    unsigned major = 0, minor = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %x:%x %" SCNu64, &area.begin, &area.end,
                    &offset, &major, &minor, &inode) != 6)
      continue;
    if (inode == info.st_ino && offset == 0 && area.end - area.begin == static_cast<std::uint64_t>(info.st_size))
      return area;
  }
  return fail(Errc::internal, "QEMU's memory is not where it should be");
}

// Runs of pages that the machine has written to.
Result<void> copy_own_pages(pid_t machine, const Area& area, int to) {
  const std::string proc = "/proc/" + std::to_string(machine);
  const UniqueFd map(open((proc + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd memory(open((proc + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (!map || !memory) return fail_errno("read QEMU's memory");
  constexpr std::size_t kAtOnce = 256;
  std::array<std::uint64_t, kAtOnce> entries{};
  std::vector<char> bytes(kAtOnce * kPage);
  for (std::uint64_t at = area.begin; at < area.end; at += kAtOnce * kPage) {
    const std::size_t pages = std::min<std::size_t>(kAtOnce, (area.end - at) / kPage);
    const auto wanted = static_cast<ssize_t>(pages * sizeof(std::uint64_t));
    if (pread(map.get(), entries.data(), static_cast<std::size_t>(wanted), static_cast<off_t>(at / kPage * 8)) !=
        wanted)
      return fail_errno("read which memory is QEMU's own");
    const auto is_own = [&](std::size_t i) {
      return (entries[i] & (kPresent | kSwapped)) != 0 && (entries[i] & kOfFile) == 0;
    };
    for (std::size_t i = 0; i < pages;) {
      if (!is_own(i)) {
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < pages && is_own(end)) ++end;
      const std::size_t size = (end - i) * kPage;
      const auto from = static_cast<off_t>(at + i * kPage);
      if (pread(memory.get(), bytes.data(), size, from) != static_cast<ssize_t>(size) ||
          pwrite(to, bytes.data(), size, from - static_cast<off_t>(area.begin)) != static_cast<ssize_t>(size))
        return fail_errno("copy QEMU's memory");
      i = end;
    }
  }
  return {};
}

}  // namespace

Result<void> copy_sparsely(int from, int to) {
  struct stat info{};
  if (fstat(from, &info) < 0) return fail_errno("look at a machine's memory");
  off_t at = 0;
  while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
    const off_t end = lseek(from, at, SEEK_HOLE);
    if (end < 0) return fail_errno("look at a machine's memory");
    if (lseek(to, at, SEEK_SET) < 0) return fail_errno("write a machine's memory");
    off_t next = at;
    while (next < end) {
      const ssize_t n = sendfile(to, from, &next, static_cast<std::size_t>(end - next));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail_errno("copy a machine's memory");
    }
    at = end;
  }
  return errno == ENXIO ? Result<void>() : Result<void>(fail_errno("look at a machine's memory"));
}

Result<UniqueFd> make_ram(std::uint64_t bytes) {
  UniqueFd ram(memfd_create("cove-ram", MFD_CLOEXEC));
  if (!ram || ftruncate(ram.get(), static_cast<off_t>(bytes)) < 0) return fail_errno("make a machine's memory");
  return ram;
}

Result<SavedRam> SavedRam::open(const std::string& saved, const std::string& cache) {
  UniqueFd file(::open(saved.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info{};
  if (!file || fstat(file.get(), &info) < 0) return fail_errno("open " + saved);
  SavedRam ram;
  ram.list_ = cache + "/held/" + Key().add_file(saved).text();
  ram.ram_ = find_held(ram.list_, info.st_size);
  if (ram.ram_) return ram;
  ram.ram_.reset(memfd_create("cove-ram", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!ram.ram_ || ftruncate(ram.fd(), info.st_size) < 0) return fail_errno("make a machine's memory");
  ram.filled_ =
      std::async(std::launch::async, [from = std::move(file), to = ram.fd()] { return copy_sparsely(from.get(), to); });
  return ram;
}

Result<UniqueFd> SavedRam::take() && {
  const bool fresh = filled_.valid();
  if (fresh) {
    COVE_CHECK(filled_.get());
    if (fcntl(fd(), F_ADD_SEALS, kSeals) < 0) return fail_errno("seal a machine's memory");
  }
  note_held(list_, fd(), fresh);
  return std::move(ram_);
}

Result<void> save_ram(int ram, const std::string& into) {
  struct stat info{};
  if (fstat(ram, &info) < 0) return fail_errno("look at a machine's memory");
  COVE_TRY(const UniqueFd file, make_saved(into, info.st_size));
  return copy_sparsely(ram, file.get());
}

Result<void> save_private_ram(pid_t machine, int ram, const std::string& into) {
  COVE_TRY(const Area area, find_mapping(machine, ram));
  struct stat info{};
  if (fstat(ram, &info) < 0) return fail_errno("look at a machine's memory");
  COVE_TRY(const UniqueFd file, make_saved(into, info.st_size));
  COVE_CHECK(copy_sparsely(ram, file.get()));
  return copy_own_pages(machine, area, file.get());
}

}  // namespace cove::microvm
