#include "policy/guarded_paths.h"

#include <algorithm>
#include <array>

#include "policy/glob_match.h"
#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

constexpr std::array<std::string_view, 37> kSystem{
    "/bin",      "/boot",      "/dev",     "/etc",       "/home",       "/lib",         "/lib32",        "/lib64",
    "/libx32",   "/opt",       "/proc",    "/run",       "/sbin",       "/snap",        "/srv",          "/sys",
    "/usr",      "/var",       "/nix",     "/Users",     "/System",     "/Library",     "/Applications", "/private",
    "/usr/bin",  "/usr/sbin",  "/usr/lib", "/usr/lib32", "/usr/lib64",  "/usr/libexec", "/usr/share",    "/var/lib",
    "/boot/efi", "/nix/store", "/etc/ssh", "/etc/pam.d", "/etc/systemd"};

constexpr std::array<std::string_view, 18> kDevices{
    "/dev/sd?*",    "/dev/hd?*",      "/dev/vd?*",   "/dev/xvd?*", "/dev/nvme?*", "/dev/mmcblk?*",
    "/dev/md?*",    "/dev/dm-*",      "/dev/loop?*", "/dev/zd?*",  "/dev/nbd?*",  "/dev/disk?*",
    "/dev/rdisk?*", "/dev/mapper/?*", "/dev/mem",    "/dev/kmem",  "/dev/port",   "/dev/disk/*/?*"};

constexpr std::array<std::string_view, 23> kCritical{
    "/etc/passwd",    "/etc/shadow",   "/etc/group",         "/etc/gshadow",    "/etc/sudoers",       "/etc/fstab",
    "/etc/crypttab",  "/etc/inittab",  "/etc/nsswitch.conf", "/etc/pam.d/?*",   "/etc/ld.so.preload", "/bin/sh",
    "/bin/bash",      "/usr/bin/sh",   "/usr/bin/bash",      "/usr/bin/env",    "/sbin/init",         "/usr/sbin/init",
    "/boot/vmlinuz*", "/boot/initrd*", "/boot/grub/?*",      "/lib*/ld-linux*", "/proc/sysrq-trigger"};

// One name of a path, as a pattern, from bytes of a word.
void add_byte(std::string& name, char c, char kind) {
  if (kind != '*' && (c == '*' || c == '?' || c == '[' || c == '\\')) name += '\\';
  name += c;
}

std::string escaped(std::string_view text) {
  std::string name;
  for (const char c : text) add_byte(name, c, '.');
  return name;
}

void add_name(PathPattern& path, std::string name) {
  if (name.empty() || name == ".") return;
  if (name != "..") {
    path.push_back(std::move(name));
  } else if (!path.empty()) {
    path.pop_back();
  }
}

void add_text(PathPattern& path, std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('/'), text.size());
    add_name(path, escaped(text.substr(0, size)));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
}

void add_word(PathPattern& path, const Word& word, std::size_t from) {
  std::string name;
  for (std::size_t i = from; i < word.text.size(); ++i) {
    if (word.text[i] == '/') {
      add_name(path, std::move(name));
      name.clear();
    } else {
      add_byte(name, word.text[i], word.kinds[i]);
    }
  }
  add_name(path, std::move(name));
}

// The variable that the word begins with, if nothing but a '/' follows it: "HOME" for `$HOME/x` and `${HOME:?}`.
std::string_view leading_variable(const Word& word, std::size_t& end) {
  if (word.text[0] != '$' || word.kinds[0] == '.') return {};
  const std::size_t stop = std::min(word.kinds.find_first_not_of(word.kinds[0]), word.text.size());
  std::string_view head = std::string_view(word.text).substr(1, stop - 1);
  const bool alone = head.find('$') == std::string_view::npos && (stop == word.text.size() || word.text[stop] == '/');
  const bool braced = head.starts_with('{');
  if (braced) head.remove_prefix(1);
  const std::size_t size =
      static_cast<std::size_t>(std::find_if_not(head.begin(), head.end(), is_name_byte) - head.begin());
  if (!alone || (!braced && size != head.size())) return {};
  end = stop;
  return head.substr(0, size);
}

// Where the word begins to be a path below `base`; false if nobody knows.
bool find_base(const Word& word, const Whereabouts& where, PathPattern& base, std::size_t& from) {
  if (word.text.empty()) return false;
  if (word.text[0] == '/') return true;
  std::string start = where.cwd;
  if (word.text[0] == '~' && word.kinds[0] == '*') {
    from = std::min(word.text.find('/'), word.text.size());
    start = from == 1 ? where.home : "/home/" + word.text.substr(1, from - 1);
    if (start == "/home/root") start = "/root";
    if (start.empty()) start = "/root";
  } else if (const std::string_view variable = leading_variable(word, from); !variable.empty()) {
    if (variable == "HOME") start = where.home.empty() ? "/root" : where.home;
    if (variable != "HOME" && variable != "PWD") return false;
  }
  if (start.empty() || start[0] != '/') return false;
  add_text(base, start);
  return true;
}

bool matches(const PathPattern& path, std::string_view guarded) {
  for (const std::string& name : path) {
    if (guarded.empty()) return false;
    guarded.remove_prefix(1);
    const std::size_t size = std::min(guarded.find('/'), guarded.size());
    if (!glob_match(name, guarded.substr(0, size))) return false;
    guarded.remove_prefix(size);
  }
  return guarded.empty();
}

bool matches_text(const PathPattern& path, std::string_view pattern) {
  std::string text;
  for (const std::string& name : path) {
    text += '/';
    for (std::size_t i = 0; i < name.size(); ++i) text += name[i] == '\\' && i + 1 < name.size() ? name[++i] : name[i];
  }
  return glob_match(pattern, text);
}

bool is_glob(std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '\\') {
      ++i;
    } else if (name[i] == '*' || name[i] == '?' || name[i] == '[') {
      return true;
    }
  }
  return false;
}

// `*`, `.*` and their like: names that nobody chose one by one.
bool is_everything(const std::string& name) {
  const auto both = [&](const char* one, const char* other) {
    return glob_match(name, one) && glob_match(name, other);
  };
  return is_glob(name) && (both("Documents", "src") || both(".config", ".ssh"));
}

Guarded guarded_itself(const PathPattern& path, const Whereabouts& where) {
  if (path.empty()) return Guarded::root;
  if (std::any_of(kSystem.begin(), kSystem.end(), [&](auto each) { return matches(path, each); }))
    return Guarded::system;
  const bool in_homes = path.size() == 2 && (path[0] == "home" || path[0] == "Users");
  const bool mine = !where.home.empty() && matches(path, where.home);
  return in_homes || mine || matches(path, "/root") ? Guarded::home : Guarded::none;
}

}  // namespace

std::vector<PathPattern> paths_of(const Word& word, const Script& script, const Whereabouts& where) {
  std::vector<PathPattern> paths;
  for (const Word& each : alternatives(word, script)) {
    PathPattern path;
    std::size_t from = 0;
    if (!find_base(each, where, path, from)) continue;
    const bool known = each.kinds.find_first_of("$\"", from) == std::string::npos;
    if (!known) continue;
    add_word(path, each, from);
    paths.push_back(std::move(path));
  }
  return paths;
}

Guarded guarded(const PathPattern& path, const Whereabouts& where) {
  if (const Guarded itself = guarded_itself(path, where); itself != Guarded::none) return itself;
  if (path.empty() || !is_everything(path.back())) return Guarded::none;
  return guarded_itself(PathPattern(path.begin(), path.end() - 1), where);
}

bool is_raw_device(const PathPattern& path) {
  return std::any_of(kDevices.begin(), kDevices.end(), [&](auto each) { return matches_text(path, each); });
}

bool is_critical_file(const PathPattern& path) {
  return std::any_of(kCritical.begin(), kCritical.end(), [&](auto each) { return matches_text(path, each); });
}

}  // namespace cove::policy
