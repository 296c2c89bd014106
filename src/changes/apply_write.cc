#include "changes/apply_write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "changes/beneath.h"
#include "os/remove_tree.h"

namespace cove::changes {
namespace {

Result<void> write_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write");
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

Result<void> copy_by_reading(int from, int to, std::uint64_t size) {
  std::vector<char> chunk(std::size_t{256} << 10);
  while (size > 0) {
    const ssize_t n = read(from, chunk.data(), static_cast<std::size_t>(std::min<std::uint64_t>(size, chunk.size())));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read");
    if (n == 0) break;  // cut meanwhile
    COVE_CHECK(write_all(to, chunk.data(), static_cast<std::size_t>(n)));
    size -= static_cast<std::uint64_t>(n);
  }
  return {};
}

// No more than the size it had: a stranger may go on appending.
Result<void> copy(int from, int to, std::uint64_t size) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  while (size > 0) {
    const ssize_t n = copy_file_range(from, nullptr, to, nullptr, static_cast<std::size_t>(std::min(size, kMost)), 0);
    if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
      return copy_by_reading(from, to, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("copy");
    if (n == 0) break;
    size -= static_cast<std::uint64_t>(n);
  }
  return {};
}

AppliedChange change_of(const Step& step) {
  using What = AppliedChange::What;
  switch (step.kind) {
    case Step::Kind::unlink: return {.path = step.path, .what = What::removed};
    case Step::Kind::remove_directory: return {.path = step.path, .what = What::removed, .directory = true};
    case Step::Kind::set_mode: return {.path = step.path, .what = What::changed, .directory = true};
    default: break;
  }
  return {.path = step.path,
          .what = step.seen ? What::changed : What::added,
          .directory = step.kind == Step::Kind::make_directory};
}

}  // namespace

void describe(const Plan& plan, Applied& applied) {
  for (const auto* steps : {&plan.removals, &plan.makings}) {
    for (const Step& step : *steps) applied.changes.push_back(change_of(step));
  }
}

ApplyWriter::~ApplyWriter() { clear(); }

void ApplyWriter::clear() {
  if (stage_) (void)os::remove_tree_at(host_, aside_);
  stage_.reset();
}

Result<void> ApplyWriter::write_aside(Plan& plan) {
  aside_ = std::string(kAsidePrefix) + std::to_string(getpid());
  if (mkdirat(host_, aside_.c_str(), 0700) < 0) return fail_errno("make a directory for what is written aside");
  stage_ = open_beneath(host_, aside_, O_RDONLY | O_DIRECTORY);
  if (!stage_) return fail_errno("open the directory for what is written aside");
  for (Step& step : plan.makings) {
    if (auto staged = stage(step); !staged)
      return fail(std::move(staged).error().because("write " + step.path + " aside"));
  }
  std::erase_if(plan.makings, [](const Step& step) {
    return (step.kind == Step::Kind::write || step.kind == Step::Kind::link) && step.staged.empty();
  });
  return sync();
}

Result<void> ApplyWriter::stage(Step& step) {
  if (step.kind == Step::Kind::write) return stage_file(step);
  if (step.kind != Step::Kind::link) return {};
  step.staged = std::to_string(number_++);
  if (symlinkat(step.target.c_str(), stage_.get(), step.staged.c_str()) < 0) return fail_errno("make the link");
  if (options_.owner && geteuid() == 0 &&
      fchownat(stage_.get(), step.staged.c_str(), options_.owner->uid, options_.owner->gid, AT_SYMLINK_NOFOLLOW) < 0)
    return fail_errno("set the owner");
  return {};
}

Result<void> ApplyWriter::stage_file(Step& step) {
  const UniqueFd directory = open_beneath(upper_, parent_of(step.path), O_RDONLY | O_DIRECTORY);
  const UniqueFd from = directory ? open_regular(directory.get(), name_of(step.path)) : UniqueFd();
  struct stat info{};
  if (!from || fstat(from.get(), &info) < 0) {
    applied_.refused.push_back({.path = step.path, .reason = "it is gone"});
    return {};
  }
  const std::string name = std::to_string(number_++);
  const UniqueFd to(openat(stage_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!to) return fail_errno("create");
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  COVE_CHECK(copy(from.get(), to.get(), std::min(size, options_.most_bytes)));
  if (!own(to.get(), step)) {
    applied_.refused.push_back({.path = step.path, .reason = "the host's file belongs to another user"});
    return {};
  }
  if (fchmod(to.get(), step.mode) < 0) return fail_errno("set the mode");
  step.staged = name;
  return {};
}

// A replaced file keeps its owner. Its group, too, if this user may give it.
bool ApplyWriter::own(int fd, const Step& step) {
  if (step.seen && S_ISREG(step.seen->st_mode)) {
    if (geteuid() != 0 && step.seen->st_uid != geteuid()) return false;
    if (fchown(fd, static_cast<uid_t>(-1), step.seen->st_gid) < 0 && geteuid() == 0) return false;
    return geteuid() != 0 || fchown(fd, step.seen->st_uid, static_cast<gid_t>(-1)) == 0;
  }
  if (!options_.owner || geteuid() != 0) return true;
  return fchown(fd, options_.owner->uid, options_.owner->gid) == 0;
}

// One call for all of them: thousands of fsync cost minutes.
Result<void> ApplyWriter::sync() const {
  if (syncfs(stage_.get()) < 0) return fail_errno("sync what was written aside");
  return {};
}

void ApplyWriter::put_in_place(const Plan& plan) {
  for (const Step& step : plan.removals) perform(step);
  for (const Step& step : plan.makings) {
    if (step.kind == Step::Kind::make_directory) perform(step);
  }
  for (const Step& step : plan.makings) {
    if (step.kind == Step::Kind::write || step.kind == Step::Kind::link) perform(step);
  }
  // Modes last, from the bottom up: a directory that may not be written in is filled by now.
  for (auto step = plan.makings.rbegin(); step != plan.makings.rend(); ++step) {
    const bool made = step->kind == Step::Kind::make_directory && touched_.contains(step->path);
    if (step->kind == Step::Kind::set_mode || made) {
      Step mode = *step;
      mode.kind = Step::Kind::set_mode;
      if (made) mode.seen.reset();  // it has its line already
      perform(mode);
    }
  }
  clear();  // before the times of directories are taken down
  (void)syncfs(host_);
  remember();
}

void ApplyWriter::perform(const Step& step) {
  const UniqueFd parent = open_beneath(host_, parent_of(step.path), O_RDONLY | O_DIRECTORY, Mounts::stay);
  const std::string name = name_of(step.path);
  bool done = false;
  errno = errno == 0 ? ENOENT : errno;
  if (parent) {
    switch (step.kind) {
      case Step::Kind::unlink:
      case Step::Kind::remove_directory: done = remove(parent.get(), name, step); break;
      case Step::Kind::make_directory: done = make_directory(parent.get(), name, step); break;
      case Step::Kind::set_mode: done = set_mode(parent.get(), name, step); break;
      case Step::Kind::write:
      case Step::Kind::link: done = put(parent.get(), name, step); break;
    }
  }
  if (!done) {
    const std::string why = errno == ESTALE || errno == EEXIST
                                ? "it was changed on the host just now"
                                : "it could not be changed: " + std::string(std::strerror(errno));
    applied_.conflicts.push_back({.path = step.path, .reason = why});
    return;
  }
  touched_.insert(step.path);
  touched_.insert(parent_of(step.path));
  const bool mode_of_made = step.kind == Step::Kind::set_mode && !step.seen;
  if (!mode_of_made) applied_.changes.push_back(change_of(step));
}

// ESTALE otherwise. Not by the ctime: removing another name of the same file changes it.
bool ApplyWriter::as_seen(int parent, const std::string& name, const Step& step) const {
  struct stat now{};
  if (fstatat(parent, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) < 0) return !step.seen && errno == ENOENT;
  const bool same =
      step.seen && now.st_ino == step.seen->st_ino && now.st_dev == step.seen->st_dev &&
      now.st_mode == step.seen->st_mode &&
      (S_ISDIR(now.st_mode) || (now.st_size == step.seen->st_size && now.st_mtim.tv_sec == step.seen->st_mtim.tv_sec &&
                                now.st_mtim.tv_nsec == step.seen->st_mtim.tv_nsec));
  if (!same) errno = ESTALE;
  return same;
}

bool ApplyWriter::remove(int parent, const std::string& name, const Step& step) {
  if (!as_seen(parent, name, step)) return false;
  const int flags = step.kind == Step::Kind::remove_directory ? AT_REMOVEDIR : 0;
  if (unlinkat(parent, name.c_str(), flags) < 0) return false;
  gone_.insert(step.path);
  return true;
}

bool ApplyWriter::make_directory(int parent, const std::string& name, const Step& step) {
  if (!as_seen(parent, name, step)) return false;
  if (step.seen && unlinkat(parent, name.c_str(), 0) < 0) return false;
  if (mkdirat(parent, name.c_str(), 0700) < 0) return false;
  if (!options_.owner || geteuid() != 0) return true;
  const UniqueFd made(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return made && fchown(made.get(), options_.owner->uid, options_.owner->gid) == 0;
}

bool ApplyWriter::put(int parent, const std::string& name, const Step& step) {
  if (!as_seen(parent, name, step)) return false;
  struct stat above{};
  // What is made in such a directory belongs to its group; what is renamed into it would not.
  if (!step.seen && !options_.owner && fstat(parent, &above) == 0 && (above.st_mode & S_ISGID) != 0)
    (void)fchownat(stage_.get(), step.staged.c_str(), static_cast<uid_t>(-1), above.st_gid, AT_SYMLINK_NOFOLLOW);
  const unsigned flags = step.seen ? 0U : RENAME_NOREPLACE;
  if (renameat2(stage_.get(), step.staged.c_str(), parent, name.c_str(), flags) == 0) return true;
  // Some file systems have no flags; then the look a moment ago must do.
  if (flags == 0 || (errno != EINVAL && errno != ENOSYS)) return false;
  return renameat(stage_.get(), step.staged.c_str(), parent, name.c_str()) == 0;
}

bool ApplyWriter::set_mode(int parent, const std::string& name, const Step& step) {
  const UniqueFd fd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!fd || fstat(fd.get(), &info) < 0) return false;
  return fchmod(fd.get(), step.mode | (info.st_mode & (S_ISGID | S_ISVTX))) == 0;
}

void ApplyWriter::remember() {
  std::unordered_map<std::string, Written> all;
  for (const Written& earlier : options_.already) {
    if (!gone_.contains(earlier.path)) all.insert_or_assign(earlier.path, earlier);
  }
  for (const std::string& path : touched_) {
    const UniqueFd parent = open_beneath(host_, parent_of(path), O_RDONLY | O_DIRECTORY, Mounts::stay);
    struct stat info{};
    const std::string name = path.empty() ? "." : name_of(path);
    if (parent && fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0)
      all.insert_or_assign(path, Written::of(path, info));
  }
  applied_.written.clear();
  for (auto& [path, written] : all) applied_.written.push_back(std::move(written));
  std::sort(applied_.written.begin(), applied_.written.end(),
            [](const Written& a, const Written& b) { return a.path < b.path; });
}

}  // namespace cove::changes
