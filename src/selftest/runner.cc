#include "selftest/runner.h"

#include "selftest/stage.h"
#include "selftest/unpromised.h"

namespace cove::selftest {
namespace {

Verdict make_attempt(const Attempt& attempt, std::string_view backend, Stage& stage) {
  if (const std::string_view why = unpromised(backend, attempt.name); !why.empty()) {
    return {Finding::not_applicable, std::string(backend) + " does not promise it: " + std::string(why)};
  }
  stage.begin();
  Verdict verdict = attempt.run != nullptr ? attempt.run(stage) : stage.tried({std::string(attempt.act)});
  verdict.detail = clean_line(verdict.detail);
  return verdict;
}

}  // namespace

Result<std::vector<Tried>> run(const Options& options) {
  COVE_TRY(const auto stage, Stage::set(options.base, options.stop));
  std::vector<Tried> all;
  for (const Attempt& attempt : options.attempts) {
    Tried tried{attempt, make_attempt(attempt, options.base.backend, *stage)};
    if (options.stop.stop_requested()) return fail(Errc::cancelled, "the selftest was interrupted");
    if (options.each) options.each(tried);
    all.push_back(std::move(tried));
  }
  return all;
}

}  // namespace cove::selftest
