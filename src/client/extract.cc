#include "client/extract.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace cove {
namespace {

constexpr mode_t kPermissions = 0777;

// The component at the front of `path`, taken off; "." and empty ones are passed over.
std::string_view take_component(std::string_view& path) {
  std::string_view component;
  while (!path.empty() && (component.empty() || component == ".")) {
    const std::size_t end = std::min(path.find('/'), path.size());
    component = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return component == "." ? std::string_view() : component;
}

Result<void> set_time(int directory, const std::string& name, const timespec& mtime) {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, mtime};
  if (utimensat(directory, name.c_str(), times, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno("set the time of " + name);
  return {};
}

}  // namespace

Result<void> check_entry_path(std::string_view path) {
  if (path.empty() || path.size() >= PATH_MAX || path.front() == '/') {
    return fail(Errc::denied, "the sandbox sent a path that is empty, absolute or too long");
  }
  for (std::string_view rest = path; !rest.empty();) {
    if (take_component(rest) == "..")
      return fail(Errc::denied, "the sandbox sent a path with '..': " + std::string(path));
  }
  return {};
}

Result<Extractor::Slot> Extractor::locate(std::string_view path) {
  COVE_CHECK(check_entry_path(path));
  std::string_view rest = path;
  Slot slot{UniqueFd(fcntl(root_.get(), F_DUPFD_CLOEXEC, 3)), std::string(take_component(rest))};
  for (std::string next(take_component(rest)); !next.empty(); next = take_component(rest)) {
    UniqueFd below(openat(slot.parent.get(), slot.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!below) return fail_errno("enter " + slot.name + " of " + std::string(path));
    slot.parent = std::move(below);
    slot.name = std::move(next);
  }
  if (slot.name.empty()) return fail(Errc::denied, "the sandbox sent a path without a name: " + std::string(path));
  return slot;
}

Result<UniqueFd> Extractor::add(const Entry& entry) {
  COVE_TRY(const Slot slot, locate(entry.path));
  const int parent = slot.parent.get();
  if (entry.hard_link) {
    COVE_TRY(const Slot target, locate(entry.link));
    if (linkat(target.parent.get(), target.name.c_str(), parent, slot.name.c_str(), 0) < 0) {
      return fail_errno("link " + entry.path);
    }
    return UniqueFd();
  }
  if (S_ISDIR(entry.mode)) return add_directory(slot, entry).map([] { return UniqueFd(); });
  if (S_ISLNK(entry.mode)) {
    if (symlinkat(entry.link.c_str(), parent, slot.name.c_str()) < 0) return fail_errno("make symlink " + entry.path);
    return set_time(parent, slot.name, entry.mtime).map([] { return UniqueFd(); });
  }
  if (!S_ISREG(entry.mode)) return fail(Errc::unsupported, entry.path + " is not a file, directory or symlink");
  UniqueFd file(openat(parent, slot.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_errno("make " + entry.path);
  return file;
}

// Until the end a directory is open to its owner only, so that a read-only one can be filled.
Result<void> Extractor::add_directory(const Slot& slot, const Entry& entry) {
  if (mkdirat(slot.parent.get(), slot.name.c_str(), 0700) < 0 && errno != EEXIST) {
    return fail_errno("make directory " + entry.path);
  }
  directories_.push_back(entry);
  return {};
}

Result<void> Extractor::finish_file(int file, const Entry& entry) {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, entry.mtime};
  if (fchmod(file, entry.mode & kPermissions) < 0) return fail_errno("set the mode of " + entry.path);
  if (futimens(file, times) < 0) return fail_errno("set the time of " + entry.path);
  return {};
}

Result<void> Extractor::finish() {
  for (auto entry = directories_.rbegin(); entry != directories_.rend(); ++entry) {
    COVE_TRY(const Slot slot, locate(entry->path));
    const UniqueFd directory(
        openat(slot.parent.get(), slot.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory) return fail_errno("open directory " + entry->path);
    COVE_CHECK(finish_file(directory.get(), *entry));
  }
  return {};
}

}  // namespace cove
