#include "changes/apply.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "changes/apply_plan.h"
#include "changes/apply_write.h"
#include "changes/beneath.h"
#include "os/remove_tree.h"

namespace cove::changes {
namespace {

// Of an apply that was cut short; the lock says that none is at work.
void remove_leftovers(int host) {
  const auto names = os::names_in(host);
  if (!names) return;
  for (const std::string& name : *names) {
    struct stat info{};
    if (!name.starts_with(kAsidePrefix) || fstatat(host, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) continue;
    if (S_ISDIR(info.st_mode) && info.st_uid == geteuid()) (void)os::remove_tree_at(host, name);
  }
}

Result<void> lock(int host, const std::string& host_dir) {
  if (flock(host, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK) return fail(Errc::busy, "another apply is at work in " + host_dir + ": wait for it");
  return fail_errno("lock " + host_dir);
}

// Both sides agree from here on: what comes next is a change of one side only.
void remember_same(const Plan& plan, Applied& applied) {
  std::set<std::string> paths;
  for (const Written& one : plan.same) paths.insert(one.path);
  std::erase_if(applied.written, [&](const Written& one) { return paths.contains(one.path); });
  applied.written.insert(applied.written.end(), plan.same.begin(), plan.same.end());
  std::sort(applied.written.begin(), applied.written.end(),
            [](const Written& a, const Written& b) { return a.path < b.path; });
}

Result<void> carry_out(int upper, int host, const ApplyOptions& options, Plan& plan, Applied& applied) {
  ApplyWriter writer(upper, host, options, applied);
  COVE_CHECK(writer.write_aside(plan));
  writer.put_in_place(plan);
  applied.wrote = true;
  return {};
}

}  // namespace

std::string_view name(AppliedChange::What what) {
  switch (what) {
    case AppliedChange::What::added: return "added";
    case AppliedChange::What::changed: return "changed";
    case AppliedChange::What::removed: return "removed";
  }
  return "changed";
}

Result<Applied> apply(const std::string& upper, const std::string& host_dir, const ApplyOptions& options) {
  COVE_TRY(const auto globs, Globs::make(options.only));
  COVE_TRY(const auto inside, open_root(upper));
  COVE_TRY(const auto host, open_root(host_dir));
  if (!options.dry_run) {
    COVE_CHECK(lock(host.get(), host_dir));
    remove_leftovers(host.get());
  }
  COVE_TRY(auto plan, make_plan(inside.get(), host.get(), globs, options));
  Applied applied{.conflicts = plan.conflicts, .refused = plan.refused, .written = options.already};
  const bool nothing = plan.removals.empty() && plan.makings.empty();
  if (options.dry_run || nothing || (!plan.conflicts.empty() && !options.partial)) {
    describe(plan, applied);
  } else if (auto done = carry_out(inside.get(), host.get(), options, plan, applied); !done) {
    return fail(std::move(done).error().because("apply to " + host_dir + ", where nothing was changed"));
  }
  if (!options.dry_run) remember_same(plan, applied);
  const auto by_path = [](const auto& a, const auto& b) { return a.path < b.path; };
  std::stable_sort(applied.changes.begin(), applied.changes.end(), by_path);
  std::stable_sort(applied.conflicts.begin(), applied.conflicts.end(), by_path);
  return applied;
}

}  // namespace cove::changes
