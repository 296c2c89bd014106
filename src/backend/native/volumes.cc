#include "backend/native/volumes.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "backend/native/mounts.h"

namespace cove::native {
namespace {

Failure refuse(const std::string& given, const std::string& why) {
  return fail(Errc::invalid, "--volume " + given + ": " + why);
}

bool is_plain_absolute(const std::string& path) {
  return path.starts_with('/') && path.find("//") == std::string::npos &&
         (path + "/").find("/./") == std::string::npos && (path + "/").find("/../") == std::string::npos;
}

bool holds(const std::string& outer, const std::string& inner) {
  return outer == "/" || outer == inner || inner.starts_with(outer + "/");
}

Result<Volume> parse(const std::string& given) {
  const std::size_t first = given.find(':');
  if (first == std::string::npos) return refuse(given, "write HOST:INSIDE, HOST:INSIDE:ro or HOST:INSIDE:cow");
  const std::size_t second = given.find(':', first + 1);
  Volume volume;
  volume.source = without_final_slash(given.substr(0, first));
  volume.target =
      without_final_slash(given.substr(first + 1, second == std::string::npos ? second : second - first - 1));
  const std::string option = second == std::string::npos ? "rw" : given.substr(second + 1);
  if (option != "ro" && option != "rw" && option != "cow")
    return refuse(given, "the only options are ro, rw and cow, not '" + option + "'");
  volume.read_only = option == "ro";
  volume.copied = option == "cow";
  if (!is_plain_absolute(volume.source)) return refuse(given, "the host's path must be absolute, without . and ..");
  if (!is_plain_absolute(volume.target)) return refuse(given, "the path inside must be absolute, without . and ..");
  return volume;
}

Result<void> check_target(const std::string& given, const Volume& volume) {
  constexpr std::array<const char*, 5> kOurs{"/", "/proc", "/dev", "/sys", "/etc/resolv.conf"};
  for (const char* ours : kOurs) {
    const bool below = std::string(ours) != "/" && holds(ours, volume.target);
    if (volume.target == ours || below) return refuse(given, std::string(ours) + " inside is the sandbox's own");
  }
  return {};
}

Result<void> check_source(const std::string& given, const Volume& volume, const std::string& home) {
  if (holds(volume.source, home) || holds(home, volume.source)) {
    return refuse(given, "it holds or lies in " + home + ", where Cove keeps its own state");
  }
  const UniqueFd fd(open_plainly(volume.source.c_str(), 0));
  if (!fd && (errno == ELOOP || errno == ENOTDIR)) {
    return refuse(given, "there is a symlink in the host's path; give the path that it leads to");
  }
  if (!fd) return fail(errno_error(errno, "--volume " + given + ": open " + volume.source));
  struct stat info{};
  if (fstat(fd.get(), &info) < 0 || (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))) {
    return refuse(given, "only directories and regular files can be shown inside; sockets and devices cannot");
  }
  if (volume.copied && !S_ISDIR(info.st_mode)) return refuse(given, "only a directory can be shown as a copy (cow)");
  return {};
}

}  // namespace

std::string without_final_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<std::vector<Volume>> read_volumes(const std::vector<std::string>& given, const std::string& home) {
  if (given.size() > kMostVolumes) {
    return fail(Errc::invalid, "a sandbox has at most " + std::to_string(kMostVolumes) + " volumes");
  }
  std::vector<Volume> volumes;
  for (const std::string& text : given) {
    COVE_TRY(Volume volume, parse(text));
    COVE_CHECK(check_target(text, volume));
    COVE_CHECK(check_source(text, volume, home));
    for (const Volume& other : volumes) {
      if (other.target == volume.target) return refuse(text, "two volumes cannot be at one place inside");
      const bool swappable =
          (!other.read_only && !other.copied && other.source != volume.source && holds(other.source, volume.source)) ||
          (!volume.read_only && !volume.copied && other.source != volume.source && holds(volume.source, other.source));
      if (swappable) return refuse(text, "one volume lies in another that is writable: the sandbox could swap it");
    }
    volumes.push_back(std::move(volume));
  }
  // An outer target is mounted before an inner one.
  std::stable_sort(volumes.begin(), volumes.end(),
                   [](const Volume& a, const Volume& b) { return a.target.size() < b.target.size(); });
  return volumes;
}

Result<std::vector<Volume>> parse_volumes(const std::vector<std::string>& given) {
  std::vector<Volume> volumes;
  for (const std::string& text : given) {
    COVE_TRY(Volume volume, parse(text));
    COVE_CHECK(check_target(text, volume));
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

Result<UniqueFd> clone_volume(const Volume& volume, int user_namespace) {
  const UniqueFd source(open_plainly(volume.source.c_str(), 0));
  if (!source) return fail_errno("open volume " + volume.source);
  UniqueFd tree(static_cast<int>(
      syscall(SYS_open_tree, source.get(), "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!tree) return fail_errno("clone volume " + volume.source);
  mount_attr attributes{};
  attributes.attr_set =
      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_IDMAP | (volume.read_only ? MOUNT_ATTR_RDONLY : 0U);
  attributes.propagation = MS_PRIVATE;
  attributes.userns_fd = static_cast<std::uint64_t>(user_namespace);
  const auto set = [&] {
    return syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof(attributes)) ==
           0;
  };
  bool done = set();
  if (!done && volume.as_it_is) {
    attributes.attr_set &= ~static_cast<std::uint64_t>(MOUNT_ATTR_IDMAP);
    done = set();
  }
  if (!done) {
    return fail(
        errno_error(errno, "map the owners of volume " + volume.source +
                               " (needs Linux 5.12 and a file system that supports it; without that, run cove as "
                               "the user who owns the volume)"));
  }
  return tree;
}

}  // namespace cove::native
