#include "os/cgroup_layout.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/unique_fd.h"

namespace cove::os {
namespace {

// Calls visit(part) for each part between separators.
template <class Visit>
void each_part(std::string_view text, char separator, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// mountinfo writes blanks and backslashes in paths as \ooo.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

struct Mount {
  int version = 0;
  std::string root, point, controllers;  // `controllers` separated by commas, v1 only
};

// ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER
Mount parse_mount(std::string_view line) {
  std::vector<std::string_view> words;
  each_part(line, ' ', [&](std::string_view word) { words.push_back(word); });
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 5 || words.end() - dash < 4) return {};
  const int version = dash[1] == "cgroup2" ? 2 : dash[1] == "cgroup" ? 1 : 0;
  return {version, unescape(words[3]), unescape(words[4]), std::string(dash[3])};
}

bool has_controller(std::string_view list, std::string_view name) {
  bool found = false;
  each_part(list, ',', [&](std::string_view one) { found = found || one == name; });
  return found;
}

// ID:CONTROLLERS:PATH; "" as the controller asks for the v2 line.
std::string own_path(std::string_view self_cgroup, std::string_view controller) {
  std::string path = "/";
  each_part(self_cgroup, '\n', [&](std::string_view line) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string_view list = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? list.empty() : has_controller(list, controller)) path = line.substr(second + 1);
  });
  return path;
}

// A container sees a part of the hierarchy: the mount's root is then not "/", and our own path may lie outside of it.
std::string own_directory(const Mount& mount, std::string path) {
  if (mount.root != "/") {
    const bool below =
        path.starts_with(mount.root) && (path.size() == mount.root.size() || path[mount.root.size()] == '/');
    path = below ? path.substr(mount.root.size()) : "";
  }
  if (path.starts_with("/..")) path.clear();
  while (path.ends_with('/')) path.pop_back();
  return mount.point + path;
}

Hierarchy find_hierarchy(const std::vector<Mount>& mounts, std::string_view self_cgroup, std::string_view controller) {
  for (const Mount& mount : mounts) {
    if (mount.version != 1 || !has_controller(mount.controllers, controller)) continue;
    return {1, mount.point, own_directory(mount, own_path(self_cgroup, controller))};
  }
  for (const Mount& mount : mounts) {
    if (mount.version == 2) return {2, mount.point, own_directory(mount, own_path(self_cgroup, ""))};
  }
  return {};
}

}  // namespace

std::vector<Hierarchy> CgroupLayout::all() const {
  std::vector<Hierarchy> found;
  for (const Hierarchy* one : {&memory, &cpu, &pids}) {
    const auto same = [&](const Hierarchy& other) { return other.mount == one->mount; };
    if (one->version != 0 && std::none_of(found.begin(), found.end(), same)) found.push_back(*one);
  }
  return found;
}

CgroupLayout parse_cgroup_layout(std::string_view mountinfo, std::string_view self_cgroup) {
  std::vector<Mount> mounts;
  each_part(mountinfo, '\n', [&](std::string_view line) {
    if (Mount mount = parse_mount(line); mount.version != 0) mounts.push_back(std::move(mount));
  });
  const auto find = [&](std::string_view controller) { return find_hierarchy(mounts, self_cgroup, controller); };
  return {find("memory"), find("cpu"), find("pids")};
}

const CgroupLayout& cgroup_layout() {
  static const CgroupLayout layout =
      parse_cgroup_layout(read_text("/proc/self/mountinfo"), read_text("/proc/self/cgroup"));
  return layout;
}

std::string read_text(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[4096];
  ssize_t n = 0;
  while (fd && (n = read(fd.get(), piece, sizeof(piece))) > 0) text.append(piece, static_cast<std::size_t>(n));
  return text;
}

Result<void> write_text(const std::string& path, std::string_view text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  if (write(fd.get(), text.data(), text.size()) < 0) return fail_errno("write '" + std::string(text) + "' to " + path);
  return {};
}

bool has_word(std::string_view list, std::string_view word) {
  while (list.ends_with('\n')) list.remove_suffix(1);
  bool found = false;
  each_part(list, ' ', [&](std::string_view one) { found = found || one == word; });
  return found;
}

}  // namespace cove::os
