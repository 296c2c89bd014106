#pragma once

#include <gtest/gtest.h>

namespace cove::conformance {

// Appends one line per test to the file that COVE_CONFORMANCE_REPORT names:
//   backend <TAB> case <TAB> passed|failed|skipped <TAB> reason
// The case is the number in the test's name (Case022_...: 22; P5_...: P5). The backend is the one under test, and for
// the runs with a POSIX shell followed by the shell's name: local/dash. A case with several tests is as good as its
// worst, and its last line counts. Does nothing when the variable is not set.
::testing::TestEventListener* make_report();

}  // namespace cove::conformance
