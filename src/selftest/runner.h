#pragma once

#include <functional>
#include <stop_token>

#include "base/error.h"
#include "selftest/attempt.h"
#include "spec/spec.h"

namespace cove::selftest {

struct Tried {
  Attempt attempt;
  Verdict verdict;
};

struct Options {
  SandboxSpec base;                        // backend and image; the rest is not looked at
  std::vector<Attempt> attempts;           // which ones
  std::stop_token stop;                    // ends it early, with everything cleaned up: `cancelled`
  std::function<void(const Tried&)> each;  // as they come
};

// Makes a sandbox and every attempt; an error means that there was nothing to try on. Leaves nothing behind.
Result<std::vector<Tried>> run(const Options& options);

}  // namespace cove::selftest
