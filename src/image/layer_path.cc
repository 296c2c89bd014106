#include "image/layer_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace cove::image {
namespace {

Failure refuse(std::string_view path, const std::string& why) {
  return fail(Errc::invalid, "'" + shown(path) + "' is refused: " + why);
}

std::string_view next_name(std::string_view& path) {
  const std::size_t size = std::min(path.find('/'), path.size());
  const std::string_view name = path.substr(0, size);
  path.remove_prefix(std::min(size + 1, path.size()));
  return name;
}

bool is_whiteout(int parent, const std::string& name) {
  struct stat info{};
  return fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(info.st_mode);
}

}  // namespace

std::string shown(std::string_view path) {
  constexpr std::size_t kMost = 200;
  path = path.substr(0, path.find('\0'));
  return std::string(path.substr(0, kMost)) + (path.size() > kMost ? "..." : "");
}

Result<std::string> clean_layer_path(std::string_view path, const PathLimits& limits) {
  if (path.size() > limits.bytes) return refuse(path, "it is longer than " + std::to_string(limits.bytes) + " bytes");
  if (path.find('\0') != std::string_view::npos) return refuse(path, "it has a zero byte");
  std::string clean;
  std::size_t depth = 0;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = next_name(rest);
    if (name == "..") return refuse(path, "'..' leads out of the layer");
    if (name.empty() || name == ".") continue;
    if (++depth > limits.depth)
      return refuse(path, "it is deeper than " + std::to_string(limits.depth) + " directories");
    if (!clean.empty()) clean += '/';
    clean += name;
  }
  return clean;
}

std::string_view directory_part(std::string_view clean) {
  const std::size_t slash = clean.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : clean.substr(0, slash);
}

std::string_view name_part(std::string_view clean) {
  const std::size_t slash = clean.rfind('/');
  return slash == std::string_view::npos ? clean : clean.substr(slash + 1);
}

Result<int> LayerPaths::open(std::string_view clean) {
  std::string_view rest = clean;
  std::size_t known = 0;
  while (known < steps_.size() && !rest.empty()) {
    std::string_view after = rest;
    if (next_name(after) != steps_[known].name) break;
    rest = after;
    ++known;
  }
  steps_.resize(known);
  while (!rest.empty()) {
    const std::string name(next_name(rest));
    const std::size_t end = rest.empty() ? clean.size() : clean.size() - rest.size() - 1;
    COVE_CHECK(descend(name, clean.substr(0, end)));
  }
  return steps_.empty() ? root_ : steps_.back().fd.get();
}

Result<void> LayerPaths::descend(const std::string& name, std::string_view path) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const int from = steps_.empty() ? root_ : steps_.back().fd.get();
  UniqueFd fd(openat(from, name.c_str(), kFlags));
  if (!fd && make_ && (errno == ENOENT || (errno == ENOTDIR && is_whiteout(from, name)))) {
    COVE_CHECK(make_(from, name, path));
    fd.reset(openat(from, name.c_str(), kFlags));
  }
  if (!fd && (errno == ENOTDIR || errno == ELOOP))
    return refuse(path, "it is no directory, and links are not followed");
  if (!fd) return fail_errno("open directory '" + shown(path) + "' of the layer");
  steps_.push_back({name, std::move(fd)});
  return {};
}

void LayerPaths::forget(std::string_view clean) {
  std::size_t known = 0;
  for (std::string_view rest = clean; !rest.empty(); ++known) {
    if (known == steps_.size() || next_name(rest) != steps_[known].name) return;
  }
  if (known > 0) steps_.resize(known - 1);
}

}  // namespace cove::image
