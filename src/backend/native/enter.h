#pragma once

// From clone to exec inside a new sandbox: an ordered list of steps, walked without allocating.

#include <sys/types.h>

#include <span>
#include <string>

#include "backend/native/mounts.h"
#include "backend/native/plan.h"
#include "base/error.h"

namespace cove::native {

// What the two sides say on the sync socket: the keeper one byte when the ids are mapped and the limits are set, with
// the volumes' mounts attached; the child a StepFailure, or end of file when the guest runs. After a guess the child
// says kReady when the place is made, and the keeper one more byte when it is known for whom.
inline constexpr char kReady = 'r';
struct StepFailure {
  int step;
  int number;  // errno
  int detail;  // which layer or volume, -1 for none
};

struct Step {
  const char* what;
  bool (*act)(const Plan&, Scene&);  // false: errno
  const char* remedy;                // "": none
};

// What keeper and child share. The child begins before it is known what to become: `waiting` has its descriptors. Its
// place is made by `plan`, read when the keeper has given the word; if that was a guess, a second word comes with the
// `final` one.
struct Entry {
  Plan waiting, plan, final;
  Scene scene;

  Plan with_descriptors(Plan other) const {
    other.sync = waiting.sync;
    other.channel = waiting.channel;
    other.null = waiting.null;
    return other;
  }
};
// In the child. Ends in the guest; returns only after a failure that it has told.
void enter(Entry& entry);
// The same with other steps, of which the last one does not return, and a plan that is there from the start.
void walk(const Plan& plan, std::span<const Step> steps);

// In the keeper: the go, with the volumes' mounts.
Result<void> let_go(int sync, const Plan& plan, pid_t child);
// ... and a failure as a sentence with the way out.
Error explain(const StepFailure& failure, const Plan& plan);
Error explain(const StepFailure& failure, const Plan& plan, std::span<const Step> steps);

// Steps that others share.
bool await_keeper(const Plan& plan, Scene& scene);
bool become_root(const Plan& plan, Scene& scene);
bool die_with_keeper(const Plan& plan, Scene& scene);

}  // namespace cove::native
