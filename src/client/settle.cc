#include "client/settle.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace cove {
namespace {

namespace fs = std::filesystem;

bool is_directory(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A directory without write permission cannot be emptied by its owner; it is ours, so it may be opened up first.
void make_removable(const fs::path& root) {
  std::error_code ignored;
  fs::permissions(root, fs::perms::owner_all, fs::perm_options::add | fs::perm_options::nofollow, ignored);
  for (auto entry = fs::recursive_directory_iterator(root, ignored); entry != fs::recursive_directory_iterator();
       entry.increment(ignored)) {
    if (ignored) return;
    if (entry->is_symlink(ignored) || !entry->is_directory(ignored)) continue;
    fs::permissions(entry->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
  }
}

Result<void> merge(const std::string& from, const std::string& to) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(from, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    COVE_CHECK(settle(entry->path().string(), to + "/" + entry->path().filename().string()));
  }
  if (error) return fail(errno_error(error.value(), "read " + from));
  return {};
}

}  // namespace

Result<Scratch> Scratch::beside(const std::string& target) {
  const std::size_t slash = target.rfind('/');
  std::string path = slash == std::string::npos ? "./" : target.substr(0, slash + 1);
  path += ".cove-copy-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail_errno("make a directory beside " + target);
  return Scratch(std::move(path));
}

Scratch::~Scratch() {
  if (path_.empty()) return;
  std::error_code ignored;
  if (fs::remove(path_, ignored); !ignored) return;
  make_removable(path_);
  fs::remove_all(path_, ignored);
}

Result<UniqueFd> Scratch::open() const {
  UniqueFd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return fail_errno("open " + path_);
  return directory;
}

Result<void> settle(const std::string& from, const std::string& to) {
  if (is_directory(from) && is_directory(to)) return merge(from, to);
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return fail_errno("put the copy at " + to);
}

}  // namespace cove
