#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "os/remove_tree.h"
#include "record/files.h"
#include "record/home.h"

namespace cove::record {
namespace {

constexpr std::time_t kHalfMadeSeconds = 10, kUnlockedSeconds = 2;

// What somebody died over while making or removing a record: nobody has it locked, and it has been there for a while.
bool is_half_made(int sandboxes, const std::string& name) {
  if (name.rfind(".new-", 0) != 0 && name.rfind(".gone-", 0) != 0) return false;
  struct stat info{};
  if (fstatat(sandboxes, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return false;
  const UniqueFd lock(openat(sandboxes, (name + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (std::time(nullptr) - info.st_mtime < (lock ? kUnlockedSeconds : kHalfMadeSeconds)) return false;
  return !lock || flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

// nullopt: it is no record, or it has been cleared.
std::optional<Info> look_at(const std::string& name) {
  auto record = Record::open(name);
  if (!record && record.error().code == Errc::not_found) return std::nullopt;
  auto info = record ? record->info() : Result<Info>(fail(record.error()));
  if (!info) {
    Info damaged;
    damaged.name = name;
    damaged.why = info.error().message;
    return damaged;
  }
  if (info->life != Life::running && info->spec.owned && record->remove()) return std::nullopt;
  if (info->life != Life::running) [[maybe_unused]]
    const auto removed = record->remove_groups();
  return std::move(*info);
}

}  // namespace

Result<std::vector<Info>> list() {
  COVE_TRY(const UniqueFd sandboxes, open_sandboxes());
  COVE_TRY(auto names, os::names_in(sandboxes.get()));
  std::sort(names.begin(), names.end());
  std::vector<Info> all;
  for (const std::string& name : names) {
    if (is_half_made(sandboxes.get(), name)) [[maybe_unused]]
      const auto removed = os::remove_mapped_tree_at(sandboxes.get(), name);
    struct stat info{};
    const bool directory =
        fstatat(sandboxes.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
    if (!directory || !check_name(name)) continue;
    if (auto found = look_at(name)) all.push_back(std::move(*found));
  }
  return all;
}

Result<std::vector<std::string>> dead() {
  COVE_TRY(const UniqueFd sandboxes, open_sandboxes());
  COVE_TRY(const auto names, os::names_in(sandboxes.get()));
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (is_half_made(sandboxes.get(), name)) found.push_back(name);
    if (!check_name(name)) continue;
    const auto record = Record::open(name);
    const auto info = record ? record->info() : Result<Info>(fail(record.error()));
    if (info && info->life != Life::running && info->spec.owned) found.push_back(name);
  }
  return found;
}

Result<void> clear_dead(const std::string& name) {
  COVE_TRY(const UniqueFd sandboxes, open_sandboxes());
  if (is_half_made(sandboxes.get(), name)) return os::remove_mapped_tree_at(sandboxes.get(), name);
  COVE_TRY(Record record, Record::open(name));
  return record.remove();
}

void sweep() {
  constexpr std::time_t kPause = 10;
  const auto at = home();
  if (!at) return;
  const UniqueFd mark(open((*at + "/swept").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info{};
  if (!mark || fstat(mark.get(), &info) < 0 || (info.st_size > 0 && std::time(nullptr) - info.st_mtime < kPause))
    return;
  if (pwrite(mark.get(), "\n", 1, 0) != 1) return;
  [[maybe_unused]] const auto cleared = list();
}

}  // namespace cove::record
