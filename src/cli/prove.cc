#include "cli/prove.h"

#include "cli/tried.h"
#include "record/record.h"
#include "selftest/canary.h"

namespace cove::cli {

Result<void> prove(const Sandbox& sandbox, const std::string& backend, const std::stop_token& stop) {
  const Call call{.deadline = Deadline::after(std::chrono::seconds(60)), .stop = stop};
  COVE_TRY(Sandbox same, Sandbox::open(sandbox.name()));
  const auto tried = selftest::prove(std::move(same), backend, call);
  std::string broken = tried ? "" : tried.error().message;
  for (const selftest::Tried& each : tried ? *tried : std::vector<selftest::Tried>{}) {
    if (each.verdict.finding == selftest::Finding::broken)
      broken += (broken.empty() ? "" : ", ") + std::string(each.attempt.name);
  }
  if (broken.empty()) {
    COVE_TRY(const auto record, record::Record::open(sandbox.name()));
    return record.save_proof(to_json(backend, *tried));
  }
  COVE_CHECK(Sandbox::remove(sandbox.name(), {.deadline = Deadline::after(std::chrono::seconds(60)), .stop = {}}));
  return fail(Errc::denied, "--prove: the sandbox does not hold: " + broken + "; it was removed");
}

}  // namespace cove::cli
