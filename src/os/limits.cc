#include "os/limits.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "os/limits_detail.h"

namespace cove::os {
namespace {

// The limits that one hierarchy holds.
struct Part {
  const Hierarchy* hierarchy;
  Limits limits;
};

std::string words_for(const Limits& limits) {
  std::string words;
  const auto add = [&](bool wanted, const char* word) {
    if (wanted) words += (words.empty() ? "" : ", ") + std::string(word);
  };
  add(limits.memory_bytes > 0, "memory");
  add(limits.cpus > 0, "cpus");
  add(limits.pids > 0, "pids");
  return words;
}

// A reason that lies in this machine, not in the request, reads as unsupported, with what to do.
Error explain(Error error, const Limits& limits) {
  if (error.code == Errc::denied || error.code == Errc::not_found) {
    error.code = Errc::unsupported;
    error.message +=
        " (run as root or under `systemd-run --user --scope -p Delegate=yes`, or leave the limit out;"
        " `cove doctor` shows what can be limited here)";
  }
  return std::move(error).because("limit " + words_for(limits));
}

Result<void> check_request(const std::string& name, const Limits& limits) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::strchr("._-", c);
  };
  if (name.empty() || name.size() > 200 || !std::all_of(name.begin(), name.end(), plain)) {
    return fail(Errc::invalid, "limits: '" + name + "' is not a sandbox name: letters, digits and ._- only");
  }
  // The kernel takes no quota below a millisecond. (Written so that NaN is refused too.)
  if (!(limits.cpus == 0 || (limits.cpus >= 0.01 && limits.cpus <= 1e6))) {
    return fail(Errc::invalid, "limit cpus: give a number from 0.01 on");
  }
  return {};
}

Result<std::vector<Part>> split(const Limits& limits) {
  if (limits.memory_bytes == 0 && limits.cpus == 0 && limits.pids == 0)
    return std::vector<Part>{};  // no look at mounts
  const CgroupLayout& layout = cgroup_layout();
  std::vector<Part> parts;
  const auto part_for = [&](const Hierarchy& hierarchy) -> Limits& {
    for (Part& part : parts) {
      if (part.hierarchy->mount == hierarchy.mount) return part.limits;
    }
    return parts.emplace_back(Part{&hierarchy, {}}).limits;
  };
  if (limits.memory_bytes > 0) part_for(layout.memory).memory_bytes = limits.memory_bytes;
  if (limits.cpus > 0) part_for(layout.cpu).cpus = limits.cpus;
  if (limits.pids > 0) part_for(layout.pids).pids = limits.pids;
  for (const Part& part : parts) {
    if (part.hierarchy->version != 0) continue;
    return fail(explain({Errc::not_found, "no control groups are mounted here"}, part.limits));
  }
  return parts;
}

Result<std::string> make_directory(const Part& part, const std::string& name) {
  std::string path = part.hierarchy->own;  // a v1 group may hold processes and groups at once
  if (part.hierarchy->version == 2) {
    COVE_TRY(path, find_parent_v2(*part.hierarchy, part.limits));
  }
  path.append("/").append(kGroupPrefix).append(name);
  if (mkdir(path.c_str(), 0755) == 0) return path;
  if (errno != EEXIST) return fail_errno("make the control group " + path);
  return fail(Errc::conflict, "the control group " + path +
                                  " exists already: that sandbox runs, or a crash left it (`cove gc` clears it)");
}

// Calls visit(directory, name) for each group of this user below `directory`.
template <class Visit>
void each_group(const std::string& directory, int depth, Visit visit) {
  DIR* open = opendir(directory.c_str());
  if (open == nullptr) return;
  while (const dirent* entry = readdir(open)) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
    const std::string path = directory + "/" + entry->d_name;
    struct stat about{};
    if (!std::string_view(entry->d_name).starts_with(kGroupPrefix)) {
      if (depth > 0) each_group(path, depth - 1, visit);
    } else if (stat(path.c_str(), &about) == 0 && about.st_uid == geteuid()) {
      visit(path, std::string(entry->d_name + kGroupPrefix.size()));
    }
  }
  closedir(open);
}

template <class Visit>
void each_group(Visit visit) {
  constexpr int kDepth = 32;
  for (const Hierarchy& hierarchy : cgroup_layout().all()) each_group(hierarchy.mount, kDepth, visit);
}

LimitSupport try_each() {
  LimitSupport support;
  const std::string name =
      "probe-" + std::to_string(getpid()) + "-" + std::to_string(Clock::now().time_since_epoch().count());
  const auto attempt = [&](const Limits& limits, const Hierarchy& hierarchy, std::string& result) {
    if (auto group = LimitGroup::make(name, limits)) {
      result = hierarchy.version == 2 ? "cgroup v2" : "cgroup v1";
    } else if (support.why_not.empty()) {
      support.why_not = group.error().message;
    }
  };
  attempt({.memory_bytes = 1 << 30}, cgroup_layout().memory, support.memory);
  attempt({.cpus = 0.01}, cgroup_layout().cpu, support.cpus);
  attempt({.pids = 100}, cgroup_layout().pids, support.pids);
  return support;
}

}  // namespace

const LimitSupport& probe_limits() {
  static const LimitSupport support = try_each();
  return support;
}

Result<LimitGroup> LimitGroup::make(const std::string& name, const Limits& limits) {
  COVE_CHECK(check_request(name, limits));
  COVE_TRY(const std::vector<Part> parts, split(limits));
  LimitGroup group;
  for (const Part& part : parts) {
    auto directory = make_directory(part, name);
    if (!directory) return fail(explain(std::move(directory).error(), part.limits));
    group.directories_.push_back(*directory);
    if (part.limits.memory_bytes > 0) group.memory_ = *directory;
    const auto set = part.hierarchy->version == 2 ? set_limits_v2 : set_limits_v1;
    if (auto done = set(*directory, part.limits); !done) return fail(explain(std::move(done).error(), part.limits));
  }
  return group;
}

LimitGroup::LimitGroup(LimitGroup&& other) noexcept
    : directories_(std::exchange(other.directories_, {})), memory_(std::exchange(other.memory_, {})) {}

LimitGroup& LimitGroup::operator=(LimitGroup&& other) noexcept {
  std::swap(directories_, other.directories_);
  std::swap(memory_, other.memory_);
  return *this;
}

LimitGroup::~LimitGroup() { [[maybe_unused]] const auto removed = remove(Deadline::after(std::chrono::seconds(2))); }

Result<void> LimitGroup::add(pid_t pid) const {
  for (const std::string& directory : directories_) {
    COVE_CHECK(write_text(directory + "/cgroup.procs", std::to_string(pid)));
  }
  return {};
}

std::uint64_t LimitGroup::oom_kills() const {
  if (memory_.empty()) return 0;
  for (const char* file : {"/memory.events", "/memory.oom_control"}) {
    const std::string text = "\n" + read_text(memory_ + file);
    const std::size_t at = text.find("\noom_kill ");
    if (at != std::string::npos) return std::strtoull(text.c_str() + at + std::strlen("\noom_kill "), nullptr, 10);
  }
  return 0;
}

Result<void> LimitGroup::remove(Deadline deadline) {
  COVE_CHECK(remove_groups(directories_, deadline));
  directories_.clear();
  memory_.clear();
  return {};
}

std::vector<std::string> find_limit_groups() {
  std::set<std::string> names;
  each_group([&](const std::string&, std::string name) { names.insert(std::move(name)); });
  return {names.begin(), names.end()};
}

Result<void> remove_limit_group(const std::string& name, Deadline deadline) {
  COVE_CHECK(check_request(name, {}));
  std::vector<std::string> directories;
  each_group([&](const std::string& path, const std::string& found) {
    if (found == name) directories.push_back(path);
  });
  return remove_groups(directories, deadline);
}

std::string group_name(const std::string& home, const std::string& sandbox) {
  std::uint32_t hash = 2166136261U;
  for (const char c : home) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::array<char, 10> text{};
  std::snprintf(text.data(), text.size(), ".%08x", hash);
  return sandbox + text.data();
}

}  // namespace cove::os
