#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "os/remove_tree.h"
#include "record/files.h"
#include "record/home.h"

namespace cove::record {
namespace {

constexpr std::time_t kHalfMadeSeconds = 60;

// What somebody died over while making or removing a record: nobody has it locked, and it has been there for a while.
void clear_half_made(int sandboxes, const std::string& name) {
  struct stat info{};
  if (fstatat(sandboxes, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return;
  if (std::time(nullptr) - info.st_mtime < kHalfMadeSeconds) return;
  const UniqueFd lock(openat(sandboxes, (name + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) < 0) return;
  [[maybe_unused]] const auto removed = os::remove_tree_at(sandboxes, name);
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
  return std::move(*info);
}

}  // namespace

Result<std::vector<Info>> list() {
  COVE_TRY(const UniqueFd sandboxes, open_sandboxes());
  COVE_TRY(auto names, names_in(sandboxes.get()));
  std::sort(names.begin(), names.end());
  std::vector<Info> all;
  for (const std::string& name : names) {
    if (name.rfind(".new-", 0) == 0 || name.rfind(".gone-", 0) == 0) clear_half_made(sandboxes.get(), name);
    struct stat info{};
    const bool directory =
        fstatat(sandboxes.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
    if (!directory || !check_name(name)) continue;
    if (auto found = look_at(name)) all.push_back(std::move(*found));
  }
  return all;
}

}  // namespace cove::record
