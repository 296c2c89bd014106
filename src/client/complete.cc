#include "client/complete.h"

#include <unistd.h>

#include "backend/traits.h"
#include "policy/env.h"
#include "record/snapshots.h"
#include "spec/settings.h"

namespace cove {
namespace {

// Sessions of a snapshot with memory have their variables and their directory already.
Result<void> settle_snapshot(SandboxSpec& spec, const Completion& how) {
  if (spec.from.empty()) return {};
  COVE_TRY(const auto snapshot, record::find_snapshot(spec.from));
  if (spec.backend == kAuto.name) spec.backend = snapshot.backend;
  const bool changes = !how.env.empty() || !how.forward.empty() || !spec.cwd.empty();
  if (snapshot.memory.empty() || !changes) return {};
  return fail(Errc::invalid, "snapshot " + spec.from +
                                 " has memory: its sessions resume as they are; leave -e, --forward-env and -w out");
}

Result<void> check_pull(const SandboxSpec& spec) {
  if (spec.pull == "missing" || spec.pull == "always" || spec.pull == "never") return {};
  return fail(Errc::invalid, "--pull " + spec.pull + ": there are missing, always and never");
}

}  // namespace

std::string usual_directory(const SandboxSpec& spec, const std::string& otherwise_in) {
  const Traits& backend = traits_of(spec.backend);
  if (backend.images == Images::engine || !spec.from.empty()) return "";
  if (!backend.is_this_machine) return otherwise_in;
  char path[4096];
  return getcwd(path, sizeof(path)) != nullptr ? path : "/";
}

Result<SandboxSpec> complete(SandboxSpec wanted, const Completion& how) {
  COVE_CHECK(check_pull(wanted));
  COVE_CHECK(settle_snapshot(wanted, how));
  COVE_CHECK(spec::settle_options(wanted, how.given));
  COVE_TRY(auto image_env, settle_image(wanted, how.pull_output));
  if (wanted.cwd.empty()) wanted.cwd = usual_directory(wanted, how.otherwise_in);
  COVE_CHECK(policy::fill_env(wanted, {.image = std::move(image_env), .set = how.env, .forward = how.forward},
                              policy::host_env()));
  return wanted;
}

}  // namespace cove
