#include "backend/microvm/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <vector>

#include "os/remove_tree.h"

namespace cove::microvm {
namespace {

constexpr time_t kUnused = 30 * 24 * 3600;
constexpr const char *kAside = ".new", *kLock = ".lock";

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void mark_used(const std::string& path) { utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

Result<UniqueFd> lock(const std::string& path, Deadline deadline) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno("open " + path);
  while (flock(file.get(), LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno("lock " + path);
    if (deadline.passed()) return fail(Errc::timeout, "somebody else still makes what is needed: " + path);
    usleep(20'000);
  }
  return file;
}

bool ends_with_one_of(const std::string& name, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return name.ends_with(end); });
}

}  // namespace

Key& Key::add(std::string_view text) {
  const auto mix = [&](unsigned char byte) {
    first_ = (first_ ^ byte) * 1099511628211ULL;
    second_ = (second_ + byte) * 6364136223846793005ULL + (first_ >> 7U);
  };
  for (const char c : text) mix(static_cast<unsigned char>(c));
  mix(0);
  mix(static_cast<unsigned char>(text.size()));
  return *this;
}

Key& Key::add_file(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) < 0) return add(path + " is not there");
  add(path).add(static_cast<std::uint64_t>(info.st_size)).add(info.st_ino);
  return add(static_cast<std::uint64_t>(info.st_mtim.tv_sec)).add(static_cast<std::uint64_t>(info.st_mtim.tv_nsec));
}

std::string Key::text() const {
  char text[40];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(first_),
                static_cast<unsigned long long>(second_));
  return text;
}

Result<std::string> cache_directory(const std::string& home) {
  std::string path = home + "/cache";
  if (mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + path);
  path += "/microvm";
  if (mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + path);
  return path;
}

Result<std::string> read_whole(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (!file || fstat(file.get(), &info) < 0) return fail(errno_error(errno, "open " + path));
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = read(file.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + path);
    if (n == 0) break;
    at += static_cast<std::size_t>(n);
  }
  bytes.resize(at);
  return bytes;
}

Result<void> write_whole(const std::string& path, std::string_view bytes) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno("make " + path);
  while (!bytes.empty()) {
    const ssize_t n = write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write " + path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> ensure(const std::string& path, const Maker& make, Deadline deadline) {
  if (exists(path)) {
    mark_used(path);
    return {};
  }
  COVE_TRY(const UniqueFd held, lock(path + kLock, deadline));
  if (exists(path)) return {};
  const std::string aside = path + kAside;
  COVE_CHECK(os::remove_tree_at(AT_FDCWD, aside));
  if (auto made = make(aside); !made) {
    [[maybe_unused]] const auto removed = os::remove_tree_at(AT_FDCWD, aside);
    return made;
  }
  if (rename(aside.c_str(), path.c_str()) < 0) return fail_errno("name " + path);
  return {};
}

void prune(const std::string& directory, std::size_t keep) {
  const UniqueFd at(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) return;
  const auto names = os::names_in(at.get());
  if (!names) return;
  std::vector<std::pair<time_t, std::string>> all;
  for (const std::string& name : *names) {
    struct stat info{};
    if (ends_with_one_of(name, {kAside, kLock}) || fstatat(at.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0)
      continue;
    all.emplace_back(info.st_mtim.tv_sec, name);
  }
  std::sort(all.rbegin(), all.rend());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < keep && all[i].first + kUnused > time(nullptr)) continue;
    [[maybe_unused]] const auto removed = os::remove_tree_at(at.get(), all[i].second);
    unlinkat(at.get(), (all[i].second + kLock).c_str(), 0);
  }
}

}  // namespace cove::microvm
