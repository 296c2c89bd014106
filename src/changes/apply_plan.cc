#include "changes/apply_plan.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "changes/beneath.h"
#include "changes/contents.h"
#include "os/remove_tree.h"

namespace cove::changes {
namespace {

constexpr mode_t kModeBits = 0777;
constexpr const char* kChanged = "it was changed on the host since the copy began";

bool later(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

struct Here {
  std::string path;
  int inside = -1;  // the directories, lent
  int host = -1;    // -1: it is yet to be made
  const std::string& name;
  bool hidden = false;  // the host's directory is not seen inside
};

// What a renamed file keeps unless it was changed, too: its size and the time of its last change.
using Identity = std::tuple<off_t, time_t, long>;
Identity identity(const struct stat& info) { return {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec}; }

// A file that the host has not, although it was copied up: deleted there, or renamed inside.
struct Missing {
  Identity what;
  Step step;
};

class Planner {
 public:
  Planner(int upper, int host, const Globs& globs, const ApplyOptions& options)
      : upper_(upper), host_(host), globs_(globs), options_(options) {
    for (const Written& written : options.already) already_.emplace(written.path, &written);
  }

  Result<Plan> run() {
    COVE_CHECK(walk());
    decide_missing();
    drop_unneeded_directories();
    const auto by_path = [](const auto& a, const auto& b) { return a.path < b.path; };
    std::stable_sort(plan_.makings.begin(), plan_.makings.end(), by_path);
    std::stable_sort(plan_.conflicts.begin(), plan_.conflicts.end(), by_path);
    std::stable_sort(plan_.refused.begin(), plan_.refused.end(), by_path);
    return std::move(plan_);
  }

 private:
  // Of a directory: `hidden` is there, but what is in it is not seen inside, as it or one above was made anew there.
  enum class Host : unsigned char { there, hidden, to_be_made, blocked };

  void conflict(const std::string& path, std::string reason) {
    plan_.conflicts.push_back({.path = path, .reason = std::move(reason)});
  }
  void refuse(const std::string& path, std::string reason) {
    plan_.refused.push_back({.path = path, .reason = std::move(reason)});
  }
  bool written_earlier(const std::string& path, const struct stat& info) const {
    const auto found = already_.find(path);
    return found != already_.end() && found->second->is(info);
  }
  bool changed_meanwhile(const std::string& path, const struct stat& info) const {
    return later(info.st_ctim, options_.base) && !written_earlier(path, info);
  }
  void agree(const std::string& path, const struct stat& host) {
    if (changed_meanwhile(path, host)) plan_.same.push_back(Written::of(path, host));
  }
  Result<void> count() {
    if (++seen_ <= options_.most_entries) return {};
    return fail(Errc::busy, "there are more than " + std::to_string(options_.most_entries) + " entries to apply");
  }

  // Descriptors are opened anew for each directory and closed before the next.
  Result<void> walk() {
    std::vector<std::pair<std::string, Host>> work{{"", Host::there}};
    while (!work.empty()) {
      const auto [at, state] = std::move(work.back());
      work.pop_back();
      COVE_CHECK(entries(at, state, work));
    }
    return {};
  }

  Result<void> entries(const std::string& path, Host state, std::vector<std::pair<std::string, Host>>& work) {
    const UniqueFd inside = open_beneath(upper_, path, O_RDONLY | O_DIRECTORY);
    if (!inside &&
        (errno == EACCES || errno == ENAMETOOLONG || errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
      refuse(path, errno == EACCES ? "the directory cannot be read" : "the directory is gone or too deep");
      return {};
    }
    if (!inside) return fail_errno("open the changed directory " + path);
    UniqueFd host;
    if (state == Host::there || state == Host::hidden) {
      host = open_beneath(host_, path, O_RDONLY | O_DIRECTORY, Mounts::stay);
      if (!host && errno == EXDEV) {
        refuse(path, "another file system is mounted there");
        return {};
      }
      if (!host) return fail_errno("open the host's directory " + path);
    }
    const bool hidden = state == Host::hidden || (!path.empty() && is_opaque(inside.get()));
    COVE_TRY(auto names, os::names_in(inside.get()));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      COVE_CHECK(count());
      const Here here{
          .path = joined(path, name), .inside = inside.get(), .host = host.get(), .name = name, .hidden = hidden};
      COVE_CHECK(state == Host::blocked ? blocked_entry(here, work) : entry(here, work));
    }
    if (host && hidden) return remove_others(path, names, host.get());
    return {};
  }

  // The directory was made anew inside: what is not in it is not there any more.
  Result<void> remove_others(const std::string& path, const std::vector<std::string>& kept, int host) {
    COVE_TRY(const auto names, os::names_in(host));
    for (const std::string& name : names) {
      if (std::binary_search(kept.begin(), kept.end(), name)) continue;
      COVE_TRY(const bool all, removal(joined(path, name), host, name, Below::as_asked));
      (void)all;
    }
    return {};
  }

  static std::optional<struct stat> look(int directory, const std::string& name) {
    struct stat info{};
    if (directory < 0 || fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return std::nullopt;
    return info;
  }

  // Below a directory that the host has removed or replaced, when only some of it is asked for.
  Result<void> blocked_entry(const Here& here, std::vector<std::pair<std::string, Host>>& work) {
    const auto inside = look(here.inside, here.name);
    if (!inside || is_whiteout(*inside)) return {};
    if (globs_.match(here.path)) {
      conflict(here.path, "its directory was removed or replaced on the host");
    } else if (S_ISDIR(inside->st_mode)) {
      work.emplace_back(here.path, Host::blocked);
    }
    return {};
  }

  Result<void> entry(const Here& here, std::vector<std::pair<std::string, Host>>& work) {
    const auto inside = look(here.inside, here.name);
    if (!inside) return {};
    const auto host = look(here.host, here.name);
    if (is_whiteout(*inside)) {
      if (host) {
        COVE_TRY(const bool all, removal(here.path, here.host, here.name, Below::as_asked));
        (void)all;
      }
      return {};
    }
    if (here.path.size() > kMostPathBytes) return refuse(here.path, "the path is too long"), Result<void>{};
    if (S_ISDIR(inside->st_mode)) return changed_directory(here, *inside, host, work);
    if (!globs_.match(here.path)) return {};
    if (auto why = refusal(here.path, *inside, options_); !why.empty()) return refuse(here.path, why), Result<void>{};
    return S_ISLNK(inside->st_mode) ? changed_link(here, host) : changed_file(here, *inside, host);
  }

  Result<void> changed_directory(const Here& here, const struct stat& inside, const std::optional<struct stat>& host,
                                 std::vector<std::pair<std::string, Host>>& work) {
    if (auto why = refusal(here.path, inside, options_); !why.empty()) return refuse(here.path, why), Result<void>{};
    const mode_t mode = inside.st_mode & kModeBits;
    if (host && S_ISDIR(host->st_mode)) {
      keep_or_set_mode(here.path, mode, *host);
      work.emplace_back(here.path, here.hidden ? Host::hidden : Host::there);
      return {};
    }
    const bool blocked = host ? changed_meanwhile(here.path, *host) : gone_from_host(here);
    if (blocked && globs_.match(here.path)) {
      conflict(here.path, host ? "it is a directory inside, and on the host something else that is new"
                               : "the directory was removed on the host, but changed inside");
      return {};
    }
    if (blocked) return work.emplace_back(here.path, Host::blocked), Result<void>{};
    if (host) going_.insert(identity(*host));
    if (auto bits = lost_bits(inside); !bits.empty() && globs_.match(here.path)) refuse(here.path, bits);
    plan_.makings.push_back({.kind = Step::Kind::make_directory, .path = here.path, .mode = mode, .seen = host});
    work.emplace_back(here.path, Host::to_be_made);
    return {};
  }

  // The ctime of a directory changes with its entries, so it cannot say who changed the mode, unless it is old.
  void keep_or_set_mode(const std::string& path, mode_t mode, const struct stat& host) {
    if (mode == (host.st_mode & kModeBits) || !globs_.match(path)) return;
    if (changed_meanwhile(path, host)) return refuse(path, "the directory's mode differs and is left as it is");
    plan_.makings.push_back({.kind = Step::Kind::set_mode, .path = path, .mode = mode, .seen = host});
  }

  bool gone_from_host(const Here& here) const {
    if (already_.contains(here.path)) return true;
    const UniqueFd fd(openat(here.inside, here.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return fd && here.host >= 0 && was_copied_up(fd.get());
  }

  Result<void> changed_file(const Here& here, const struct stat& inside, const std::optional<struct stat>& host) {
    const UniqueFd fd = open_regular(here.inside, here.name);
    if (!fd) return refuse(here.path, errno == EACCES ? "it cannot be read" : "it is gone"), Result<void>{};
    Step step{.path = here.path, .mode = inside.st_mode & kModeBits, .seen = host};
    if (host && S_ISREG(host->st_mode) && step.mode == (host->st_mode & kModeBits) &&
        same_as_host(fd.get(), inside, here, *host)) {
      return agree(here.path, *host), Result<void>{};
    }
    if (auto bits = lost_bits(inside); !bits.empty()) refuse(here.path, bits);
    return put(here, std::move(step), was_copied_up(fd.get()) ? &inside : nullptr);
  }

  static bool same_as_host(int fd, const struct stat& inside, const Here& here, const struct stat& host) {
    if (inside.st_size != host.st_size) return false;
    const UniqueFd other = open_regular(here.host, here.name);
    std::uint64_t budget = UINT64_MAX;
    return other && same_bytes(fd, other.get(), static_cast<std::uint64_t>(inside.st_size), budget);
  }

  Result<void> changed_link(const Here& here, const std::optional<struct stat>& host) {
    auto target = read_link_at(here.inside, here.name);
    if (!target) return {};
    const auto depth = static_cast<std::size_t>(std::count(here.path.begin(), here.path.end(), '/'));
    if (host && S_ISLNK(host->st_mode)) {
      const auto old = read_link_at(here.host, here.name);
      if (old && *old == *target) return agree(here.path, *host), Result<void>{};
    }
    if (!options_.links && leads_out(*target, depth))
      return refuse(here.path, "the link leads out of the directory, or may: " + *target), Result<void>{};
    return put(here, {.kind = Step::Kind::link, .path = here.path, .seen = host, .target = std::move(*target)},
               nullptr);
  }

  // A file or link in place of whatever the host has. `copied_up` is the file inside if the host had it once.
  Result<void> put(const Here& here, Step step, const struct stat* copied_up) {
    const auto host = step.seen;
    if (!host) {
      if (already_.contains(here.path)) {
        conflict(here.path, "it was brought to the host earlier and has been removed there since");
      } else if (copied_up != nullptr && changed_directory_of(here)) {
        missing_.push_back({.what = identity(*copied_up), .step = std::move(step)});
      } else {
        plan_.makings.push_back(std::move(step));
      }
      return {};
    }
    if (S_ISDIR(host->st_mode)) return put_over_directory(here, std::move(step));
    if (changed_meanwhile(here.path, *host)) {
      conflict(here.path,
               copied_up == nullptr ? "it is new or changed on both sides, with different contents" : kChanged);
      return {};
    }
    going_.insert(identity(*host));
    plan_.makings.push_back(std::move(step));
    return {};
  }

  Result<void> put_over_directory(const Here& here, Step step) {
    const std::size_t conflicts = plan_.conflicts.size(), removals = plan_.removals.size();
    COVE_TRY(const bool all, removal(here.path, here.host, here.name, Below::everything));
    if (!all) {
      plan_.conflicts.resize(conflicts);
      plan_.removals.resize(removals);
      return conflict(here.path, "it is a directory on the host that has changes, and no directory inside"),
             Result<void>{};
    }
    step.seen.reset();
    plan_.makings.push_back(std::move(step));
    return {};
  }

  // Removes a host entry and, for a directory, what is below it. False: something of it stays.
  enum class Below : unsigned char { as_asked, everything };
  struct Level {
    std::string path;
    bool opened = false, stays = false;
  };

  Result<bool> removal(const std::string& path, int directory, const std::string& name, Below below) {
    const auto info = look(directory, name);
    if (!info) return true;
    if (!S_ISDIR(info->st_mode)) return remove_leaf(path, *info, below);
    std::vector<Level> levels{{.path = path}};
    while (true) {
      Level& level = levels.back();
      if (!level.opened) {
        level.opened = true;
        COVE_CHECK(remove_entries(levels, below));
        continue;
      }
      const Level done = std::move(level);
      levels.pop_back();
      const bool stays = done.stays || !remove_emptied(done.path, below);
      if (levels.empty()) return !stays;
      if (stays) mark_parent(levels, done.path);
    }
  }

  static void mark_parent(std::vector<Level>& levels, const std::string& path) {
    const std::string parent = parent_of(path);
    for (Level& level : levels) {
      if (level.path == parent) level.stays = true;
    }
  }

  Result<void> remove_entries(std::vector<Level>& levels, Below below) {
    const std::size_t here = levels.size() - 1;
    const std::string path = levels[here].path;
    const UniqueFd fd = open_beneath(host_, path, O_RDONLY | O_DIRECTORY, Mounts::stay);
    if (!fd) {
      levels[here].stays = true;
      conflict(path, errno == EXDEV ? "another file system is mounted there" : "the directory cannot be read");
      return {};
    }
    COVE_TRY(auto names, os::names_in(fd.get()));
    std::sort(names.begin(), names.end());
    empty_[path] = names.empty();
    for (const std::string& name : names) {
      COVE_CHECK(count());
      const auto info = look(fd.get(), name);
      if (!info) continue;
      if (S_ISDIR(info->st_mode)) {
        levels.push_back({.path = joined(path, name)});
      } else if (!remove_leaf(joined(path, name), *info, below)) {
        levels[here].stays = true;
      }
    }
    return {};
  }

  bool remove_leaf(const std::string& path, const struct stat& info, Below below) {
    if (below == Below::as_asked && !globs_.match(path)) return false;
    if (changed_meanwhile(path, info)) {
      conflict(path, "it was removed inside, but changed on the host since the copy began");
      return false;
    }
    going_.insert(identity(info));
    plan_.removals.push_back({.kind = Step::Kind::unlink, .path = path, .seen = info});
    return true;
  }

  // Where nothing was changed on the host, nothing was deleted.
  bool changed_directory_of(const Here& here) const {
    struct stat info{};
    return here.host >= 0 && fstat(here.host, &info) == 0 && changed_meanwhile(parent_of(here.path), info);
  }

  // An empty directory has nothing in it that could tell its age, so its own time does.
  bool remove_emptied(const std::string& path, Below below) {
    if (below == Below::as_asked && !globs_.everything() && !globs_.match(path)) return false;
    const UniqueFd fd = open_beneath(host_, path, O_RDONLY | O_DIRECTORY, Mounts::stay);
    struct stat info{};
    if (!fd || fstat(fd.get(), &info) < 0) return false;
    if (empty_[path] && changed_meanwhile(path, info)) {
      conflict(path, "the directory was removed inside, but made or changed on the host since the copy began");
      return false;
    }
    plan_.removals.push_back({.kind = Step::Kind::remove_directory, .path = path, .seen = info});
    return true;
  }

  // Renamed inside: the file that it was is among those that go.
  void decide_missing() {
    for (Missing& missing : missing_) {
      if (going_.contains(missing.what)) {
        plan_.makings.push_back(std::move(missing.step));
      } else {
        conflict(missing.step.path, "it was removed on the host, but changed inside");
      }
    }
  }

  // With patterns, a directory is made if it is meant itself or something in it is.
  void drop_unneeded_directories() {
    std::set<std::string> needed;
    for (const Step& step : plan_.makings) {
      if (step.kind == Step::Kind::make_directory && !globs_.match(step.path)) continue;
      for (std::string at = step.path; !at.empty() && needed.insert(at).second;) at = parent_of(at);
    }
    const auto unneeded = [&](const Step& step) {
      return step.kind == Step::Kind::make_directory && !needed.contains(step.path);
    };
    std::erase_if(plan_.makings, unneeded);
  }

  int upper_, host_;
  const Globs& globs_;
  const ApplyOptions& options_;
  std::unordered_map<std::string, const Written*> already_;
  std::map<std::string, bool> empty_;
  std::set<Identity> going_;  // host files that go
  std::vector<Missing> missing_;
  Plan plan_;
  std::uint64_t seen_ = 0;
};

}  // namespace

Result<Plan> make_plan(int upper, int host, const Globs& globs, const ApplyOptions& options) {
  return Planner(upper, host, globs, options).run();
}

}  // namespace cove::changes
