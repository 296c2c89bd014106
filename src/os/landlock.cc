#include "os/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace cove::os {
namespace {

namespace fs = std::filesystem;

// As of version 6 of the interface; the system's header may be older. The kernel takes a longer structure if what it
// does not know is zero.
struct Attributes {
  std::uint64_t files = 0, tcp = 0, scopes = 0;
};
constexpr std::uint64_t kTruncate = 1ULL << 14, kDeviceIoctl = 1ULL << 15;
constexpr std::uint64_t kBindTcp = 1, kConnectTcp = 2;
constexpr std::uint64_t kAbstractSockets = 1, kSignals = 2;

constexpr std::uint64_t kList = LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kRead = kList | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                   LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kDeviceIoctl;
constexpr std::uint64_t kWrite =
    kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | kTruncate;
constexpr std::uint64_t kDevice =
    kList | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kDeviceIoctl;
constexpr std::uint64_t kAllFiles = kWrite | kDevice | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

std::uint64_t rights(Reach reach) {
  switch (reach) {
    case Reach::list: return kList;
    case Reach::read: return kRead;
    case Reach::device: return kDevice;
    case Reach::write: return kWrite;
  }
  return 0;
}

Attributes handled(int abi, const LandlockSpec& spec) {
  Attributes all;
  all.files = kAllFiles;
  if (abi < 2) all.files &= ~std::uint64_t{LANDLOCK_ACCESS_FS_REFER};  // always refused there
  if (abi < 3) all.files &= ~kTruncate;
  if (abi < 5) all.files &= ~kDeviceIoctl;
  if (abi >= 4 && !spec.tcp) all.tcp = kBindTcp | kConnectTcp;
  if (abi >= 6) all.scopes = kAbstractSockets | kSignals;
  return all;
}

Result<void> add_rule(int ruleset, const LandlockRule& rule, std::uint64_t handled_files) {
  const UniqueFd at(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!at || fstat(at.get(), &info) < 0) {
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return {};
    return fail_errno("open " + rule.path);
  }
  landlock_path_beneath_attr beneath{};
  beneath.allowed_access = rights(rule.reach) & handled_files & (S_ISDIR(info.st_mode) ? ~0ULL : kOfFiles);
  beneath.parent_fd = at.get();
  if (beneath.allowed_access == 0) return {};
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0) return {};
  return fail_errno("allow " + rule.path + " by Landlock");
}

// A symlink says nothing of its own; what it leads to is judged by its own place.
bool is_public(const fs::path& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) < 0) return true;
  if (S_ISLNK(info.st_mode)) return true;
  if (!S_ISDIR(info.st_mode)) return (info.st_mode & S_IROTH) != 0;
  if ((info.st_mode & (S_IROTH | S_IXOTH)) != (S_IROTH | S_IXOTH)) return false;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (!is_public(at->path())) return false;
  }
  return !error;
}

}  // namespace

int landlock_abi() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

Result<UniqueFd> make_ruleset(const LandlockSpec& spec) {
  const int abi = landlock_abi();
  if (abi == 0) return fail(Errc::unsupported, "this kernel has no Landlock: boot with lsm=landlock,... (Linux 5.13)");
  const Attributes attributes = handled(abi, spec);
  UniqueFd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0)));
  if (!ruleset) return fail_errno("make a Landlock ruleset");
  for (const LandlockRule& rule : spec.rules) COVE_CHECK(add_rule(ruleset.get(), rule, attributes.files));
  return ruleset;
}

void add_public(std::vector<LandlockRule>& rules, const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) < 0 || S_ISLNK(info.st_mode)) return;
  if (is_public(path)) return rules.push_back({path, Reach::read});
  if (!S_ISDIR(info.st_mode) || (info.st_mode & S_IXOTH) == 0) return;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    add_public(rules, at->path());
  }
}

bool enter_ruleset(int ruleset) { return syscall(SYS_landlock_restrict_self, ruleset, 0) == 0; }

}  // namespace cove::os
