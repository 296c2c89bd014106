#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "changes/beneath.h"
#include "changes/changes.h"
#include "changes/contents.h"
#include "changes/glob.h"

namespace cove::changes {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr unsigned kNobody = 65534;

unsigned inside(unsigned id, unsigned base) { return id >= base ? id - base : kNobody; }

// A directory before and now, by its layers; empty: it was, or is, no directory.
struct Pair {
  std::string path;
  std::vector<LayerNumber> before, after;
  std::size_t removed_in = kNone;  // the change that lists the removed directory above
};

struct Sides {
  const OpenDirectory& before;
  const OpenDirectory& after;
  LayerNumber from;  // `before` counts from this layer on
};

class Comparison {
 public:
  Comparison(Overlay overlay, LayerNumber uppers, const CompareOptions& options, Globs globs)
      : overlay_(std::move(overlay)),
        uppers_(uppers),
        options_(options),
        globs_(std::move(globs)),
        budget_(options.most_bytes) {}

  Result<std::vector<Change>> run() {
    work_.push_back({.path = "", .before = overlay_.all_layers(uppers_), .after = overlay_.all_layers()});
    while (!work_.empty()) {
      const Pair pair = std::move(work_.back());
      work_.pop_back();
      COVE_CHECK(visit(pair));
    }
    std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) { return a.path < b.path; });
    return std::move(changes_);
  }

 private:
  // Where the directory still shows its lower layers, only the names in the upper ones can have changed, and the lower
  // layers' directories are open already.
  Result<void> visit(const Pair& pair) {
    COVE_TRY(const auto after, overlay_.open_directory(pair.path, pair.after));
    const bool seen_through = !pair.before.empty() && !pair.after.empty() && pair.after.back() >= uppers_;
    if (seen_through) {
      COVE_TRY(const auto names, after.names(uppers_));
      return each(pair, names, {.before = after, .after = after, .from = uppers_});
    }
    COVE_TRY(const auto before, overlay_.open_directory(pair.path, pair.before));
    COVE_TRY(const auto names, before.names());
    COVE_TRY(const auto more, after.names());
    std::vector<std::string> all;
    std::set_union(names.begin(), names.end(), more.begin(), more.end(), std::back_inserter(all));
    return each(pair, all, {.before = before, .after = after, .from = 0});
  }

  Result<void> each(const Pair& pair, const std::vector<std::string>& names, const Sides& sides) {
    for (const std::string& name : names) {
      if (++seen_ > options_.most_entries) {
        return fail(Errc::busy, "more than " + std::to_string(options_.most_entries) +
                                    " entries are to be compared: name a directory to look at less");
      }
      const std::string path = joined(pair.path, name);
      if (!on_the_way(path)) continue;
      if (path.size() > kMostPathBytes)
        return fail(Errc::invalid, "a path is too long: " + path.substr(0, 200) + "...");
      COVE_CHECK(look(pair, path, name, sides));
    }
    return {};
  }

  // Above, at or below the prefix.
  bool on_the_way(const std::string& path) const {
    const std::string& prefix = options_.prefix;
    const std::string& shorter = path.size() < prefix.size() ? path : prefix;
    const std::string& longer = path.size() < prefix.size() ? prefix : path;
    return longer.starts_with(shorter) &&
           (shorter.empty() || longer.size() == shorter.size() || longer[shorter.size()] == '/');
  }

  Result<void> look(const Pair& pair, const std::string& path, const std::string& name, const Sides& sides) {
    COVE_TRY(const auto before, sides.before.find(name, sides.from));
    COVE_TRY(const auto after, sides.after.find(name));
    if (!before && !after) return {};
    std::size_t removed_in = pair.removed_in;
    if (auto change = difference(path, name, before, after, sides)) {
      const bool was_directory = before && change->kind_before == Kind::directory;
      const bool now_directory = after && change->kind == Kind::directory;
      const std::size_t place = put(std::move(*change), removed_in);
      if (removed_in == kNone && was_directory && !now_directory) removed_in = place;
    }
    Pair below{.path = path, .removed_in = removed_in};
    if (before && before->kind() == Kind::directory) below.before = before->layers;
    if (after && after->kind() == Kind::directory) below.after = after->layers;
    if (!below.before.empty() || !below.after.empty()) work_.push_back(std::move(below));
    return {};
  }

  std::size_t put(Change change, std::size_t removed_in) {
    if (!change.path.starts_with(options_.prefix) || !globs_.match(change.path)) return kNone;
    if (removed_in != kNone && listed_below_[removed_in]++ >= options_.most_below) {
      ++changes_[removed_in].not_listed;
      return kNone;
    }
    changes_.push_back(std::move(change));
    listed_below_.push_back(0);
    return changes_.size() - 1;
  }

  std::optional<Change> difference(const std::string& path, const std::string& name, const std::optional<Entry>& before,
                                   const std::optional<Entry>& after, const Sides& sides) {
    Change change{.path = path, .what = Change::What::changed};
    if (before) describe_before(change, *before);
    if (after) describe_after(change, *after);
    if (!before) {
      change.what = Change::What::added;
      change.kind_before = change.kind;
    } else if (!after) {
      change.what = Change::What::removed;
      change.kind = change.kind_before;
    } else if (same_file(before->info, after->info)) {
      return std::nullopt;
    } else {
      change.contents = change.kind != change.kind_before || !same_contents(name, *before, *after, sides);
      const bool owner = options_.owners && (before->info.st_uid != after->info.st_uid ||  //
                                             before->info.st_gid != after->info.st_gid);
      const bool mode = change.mode != change.mode_before && change.kind != Kind::symlink;
      if (!change.contents && !owner && !mode) return std::nullopt;
    }
    return change;
  }

  // A hard link, or the very entry of a lower layer. Directories are what their layers say.
  static bool same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mode == b.st_mode;
  }

  bool same_contents(const std::string& name, const Entry& a, const Entry& b, const Sides& sides) {
    if (a.kind() == Kind::directory) return true;
    if (a.kind() == Kind::other) {
      return (a.info.st_mode & S_IFMT) == (b.info.st_mode & S_IFMT) && a.info.st_rdev == b.info.st_rdev;
    }
    if (a.info.st_size != b.info.st_size) return false;
    const int left = sides.before.in_layer(a.layers.front());
    const int right = sides.after.in_layer(b.layers.front());
    if (a.kind() == Kind::symlink) {
      const auto target = read_link_at(left, name), other = read_link_at(right, name);
      return target && other && *target == *other;
    }
    const UniqueFd one = open_regular(left, name), two = open_regular(right, name);
    return one && two && same_bytes(one.get(), two.get(), static_cast<std::uint64_t>(a.info.st_size), budget_);
  }

  void describe_before(Change& change, const Entry& entry) const {
    change.kind_before = entry.kind();
    change.size_before = size_of(entry);
    change.mode_before = entry.info.st_mode & 07777U;
    change.uid_before = inside(entry.info.st_uid, options_.uid_base);
    change.gid_before = inside(entry.info.st_gid, options_.gid_base);
  }

  void describe_after(Change& change, const Entry& entry) const {
    change.kind = entry.kind();
    change.size = size_of(entry);
    change.mode = entry.info.st_mode & 07777U;
    change.uid = inside(entry.info.st_uid, options_.uid_base);
    change.gid = inside(entry.info.st_gid, options_.gid_base);
  }

  // A directory's own size says nothing, and differs between file systems.
  static std::uint64_t size_of(const Entry& entry) {
    const bool counts = entry.kind() == Kind::file || entry.kind() == Kind::symlink;
    return counts && entry.info.st_size > 0 ? static_cast<std::uint64_t>(entry.info.st_size) : 0;
  }

  Overlay overlay_;
  LayerNumber uppers_;
  const CompareOptions& options_;
  Globs globs_;
  std::uint64_t budget_, seen_ = 0;
  std::vector<Pair> work_;
  std::vector<Change> changes_;
  std::vector<std::uint64_t> listed_below_;  // beside changes_
};

}  // namespace

std::string_view name(Change::What what) {
  switch (what) {
    case Change::What::added: return "added";
    case Change::What::changed: return "changed";
    case Change::What::removed: return "removed";
  }
  return "changed";
}

Result<std::vector<Change>> compare(const View& lower, const std::vector<std::string>& uppers,
                                    const CompareOptions& options) {
  View view{.layers = uppers};
  view.layers.insert(view.layers.end(), lower.layers.begin(), lower.layers.end());
  COVE_TRY(auto overlay, Overlay::open(view));
  COVE_TRY(auto globs, Globs::make(options.globs));
  CompareOptions clean = options;
  while (clean.prefix.ends_with('/')) clean.prefix.pop_back();
  while (clean.prefix.starts_with('/')) clean.prefix.erase(0, 1);
  return Comparison(std::move(overlay), static_cast<LayerNumber>(uppers.size()), clean, std::move(globs)).run();
}

}  // namespace cove::changes
