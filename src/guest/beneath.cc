#include "guest/beneath.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace cove::guest {
namespace {

Failure refuse(std::string_view path, const char* why) {
  return fail(Errc::invalid, std::string(path) + ": refused, because " + why);
}

// The first component, cut off.
std::string_view next_name(std::string_view& path) {
  const std::size_t size = std::min(path.find('/'), path.size());
  const std::string_view name = path.substr(0, size);
  path.remove_prefix(std::min(size + 1, path.size()));
  return name;
}

}  // namespace

Result<std::string> clean_path(std::string_view path) {
  if (path.starts_with('/')) return refuse(path, "the archive gives an absolute path");
  if (path.find('\0') != std::string_view::npos) return refuse(path.substr(0, path.find('\0')), "it has a zero byte");
  std::string clean;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = next_name(rest);
    if (name == "..") return refuse(path, "'..' leads out of the target directory");
    if (name.empty() || name == ".") continue;
    if (!clean.empty()) clean += '/';
    clean += name;
  }
  return clean;
}

CleanSplit split_clean(std::string_view clean) {
  const std::size_t slash = clean.rfind('/');
  if (slash == std::string_view::npos) return {.directory = {}, .name = clean};
  return {.directory = clean.substr(0, slash), .name = clean.substr(slash + 1)};
}

Result<int> Beneath::open(std::string_view clean, Missing missing) {
  const bool on_the_way = clean.starts_with(path_) && (clean.size() == path_.size() || clean[path_.size()] == '/');
  if (!on_the_way) forget();
  std::string_view rest = clean.substr(std::min(path_.empty() ? 0 : path_.size() + 1, clean.size()));
  while (!rest.empty()) COVE_CHECK(descend(next_name(rest), missing));
  return path_.empty() ? root_ : fd_.get();
}

void Beneath::forget() {
  path_.clear();
  fd_.reset();
}

Result<void> Beneath::descend(std::string_view name, Missing missing) {
  const int from = path_.empty() ? root_ : fd_.get();
  const std::string component(name);
  const std::string path = path_.empty() ? component : path_ + "/" + component;
  constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(openat(from, component.c_str(), flags));
  if (!fd && errno == ENOENT && missing == Missing::make) {
    if (mkdirat(from, component.c_str(), 0777) < 0 && errno != EEXIST) return fail_errno("make directory " + path);
    fd.reset(openat(from, component.c_str(), flags));
  }
  if (!fd && (errno == ENOTDIR || errno == ELOOP))
    return refuse(path, "it is no directory, and links are not followed");
  if (!fd) return fail_errno("open directory " + path);
  fd_ = std::move(fd);
  path_ = path;
  return {};
}

}  // namespace cove::guest
