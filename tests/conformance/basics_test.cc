// A: basics, cases 1-15.

#include <algorithm>

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

TEST_F(Contract, Case001_EchoGivesItsLineAndNothingElse) {
  const Ran ran = sh("echo hi");
  EXPECT_RAN(ran, 0, "hi\n");
  EXPECT_EQ(ran.outcome.cwd, scratch());
}

TEST_F(Contract, Case002_NoNewlineIsAdded) { EXPECT_RAN(sh("printf hi"), 0, "hi"); }

TEST_F(Contract, Case003_NothingIsTrimmed) { EXPECT_RAN(sh("printf 'hi\\n\\n'"), 0, "hi\n\n"); }

TEST_F(Contract, Case004_AnEmptyCommandSucceeds) { EXPECT_RAN(sh(""), 0, ""); }

TEST_F(Contract, Case005_FalseIsOne) { EXPECT_RAN(sh("false"), 1, ""); }

TEST_F(Contract, Case006_ASubshellsExitCodeCounts) {
  const Ran ran = sh("(exit 42)");
  EXPECT_RAN(ran, 42, "");
  EXPECT_EQ(ran.outcome.cwd, scratch());
}

TEST_F(Contract, Case007_ExitGivesItsCode) { EXPECT_RAN(sh("exit 42"), 42, ""); }

TEST_F(Contract, Case008_ExecGivesTheProgramsCode) {
  EXPECT_RAN(sh("exec sh -c 'exit 7'"), 7, "");
  EXPECT_RAN(sh("echo on"), 0, "on\n");
}

TEST_F(Contract, Case009_KillNineOfTheShellIsASignal) {
  const Ran ran = sh("echo before; kill -9 $$");
  EXPECT_EQ(ran.outcome.ending, Ending::signaled) << printable(ran);
  EXPECT_EQ(ran.outcome.signal, 9);
  EXPECT_EQ(ran.code(), 137);
  EXPECT_EQ(ran.output, "before\n");
  EXPECT_RAN(sh("echo on"), 0, "on\n");
}

TEST_F(Contract, Case010_ACrashOfAProgramIsTheShells139) {
  const Ran ran = sh("ulimit -c 0; sh -c 'kill -11 $$'");
  EXPECT_TRUE(ran.exited(139)) << printable(ran);
  EXPECT_NE(ran.output.find("Segmentation fault"), std::string::npos) << printable(ran);
}

TEST_F(Contract, Case011_AnUnbalancedQuoteIsASyntaxErrorAndTheSessionStays) {
  const Ran ran = sh("echo 'unbal");
  EXPECT_TRUE(ran.exited(2)) << printable(ran);
  EXPECT_NE(ran.output.find("unexpected EOF"), std::string::npos) << printable(ran);
  EXPECT_RAN(sh("echo on"), 0, "on\n");
}

TEST_F(Contract, Case012_AHereDocumentIsTakenAsItIs) { EXPECT_RAN(sh("cat <<E\nhello 'q'\nE"), 0, "hello 'q'\n"); }

TEST_F(Contract, Case013_AnUnterminatedHereDocumentSwallowsNothingOfOurs) {
  const Ran ran = sh("HERE=1; cat <<E\nhello");
  EXPECT_TRUE(ran.exited(0)) << printable(ran);
  EXPECT_TRUE(ran.output.ends_with("hello\n")) << printable(ran);
  EXPECT_NE(ran.output.find("here-document"), std::string::npos) << printable(ran);
  EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 2) << printable(ran);
  EXPECT_RAN(sh("echo $HERE"), 0, "1\n");
}

TEST_F(Contract, Case014_ATrailingBackslashStaysABackslash) { EXPECT_RAN(sh("echo a\\"), 0, "a\\\n"); }

TEST_F(Contract, Case015_ACommandOf200KiBRuns) {
  const std::string long_text(200 << 10, 'x');
  EXPECT_RAN(sh("LONG='" + long_text + "'; echo ${#LONG}"), 0, "204800\n");
  EXPECT_RAN(sh("echo ${#LONG}; unset LONG"), 0, "204800\n");
}

}  // namespace
}  // namespace cove::conformance
