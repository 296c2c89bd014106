#include "selftest/canary.h"

#include "backend/guest_path.h"
#include "selftest/bait.h"
#include "selftest/judge.h"
#include "selftest/outside.h"
#include "selftest/unpromised.h"

namespace cove::selftest {
namespace {

std::vector<Attempt> canaries() {
  std::vector<Attempt> chosen;
  for (const auto list : {kernel_attempts(), namespace_attempts()}) {
    for (const Attempt& attempt : list) {
      if (attempt.run == nullptr) chosen.push_back(attempt);
    }
  }
  return chosen;
}

}  // namespace

Result<std::vector<Tried>> prove(Sandbox sandbox, const std::string& backend, const Call& call) {
  COVE_TRY(const std::string path, find_companion("cove-attempt", "COVE_ATTEMPT"));
  COVE_TRY(Inside inside, Inside::enter(std::move(sandbox), host_content(path), call));
  std::vector<Tried> all;
  for (const Attempt& attempt : canaries()) {
    Tried tried{attempt, {}};
    const std::string_view why = unpromised(backend, attempt.name);
    tried.verdict = why.empty() ? judge(inside.act({std::string(attempt.act)}, call))
                                : Verdict{Finding::not_applicable, std::string(why)};
    all.push_back(std::move(tried));
  }
  COVE_CHECK(inside.leave(call));
  return all;
}

}  // namespace cove::selftest
