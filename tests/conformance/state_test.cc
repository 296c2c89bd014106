// B: state between calls, cases 16-31.

#include <set>
#include <thread>

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

TEST_F(Contract, Case016_VariablesAndArraysStayAndStayUnexported) {
  EXPECT_RAN(sh("export FOO=bar; BAZ=1; ARR=(a b)"), 0, "");
  EXPECT_RAN(sh("echo $FOO/$BAZ/${ARR[1]}; env | grep -c ^BAZ"), 1, "bar/1/b\n0\n");
}

TEST_F(Contract, Case016_ExportsOfEveryKindStay) {
  EXPECT_RAN(sh("export Q='a \"b\" $c `d` \\e' NL=$'x\\ny\\t' EMPTY= BASH_ENV=/nope LD_X=1 LC_ALL=no_SUCH 2>/dev/null; "
                "declare -rx RO=1; export UNSET"),
             0, "");
  const std::string show =
      "printf '[%s]' \"$Q\" \"$NL\" \"$EMPTY\" \"$BASH_ENV\" \"$LD_X\" \"$LC_ALL\" \"$RO\"; export -p | "
      "grep -c -e ' Q=' -e ' NL=' -e ' EMPTY=' -e BASH_ENV= -e LD_X= -e RO= -e 'UNSET$'";
  const std::string expected = "[a \"b\" $c `d` \\e][x\ny\t][][/nope][1][no_SUCH][1]7\n";
  for (int i = 0; i < 2; ++i) EXPECT_RAN(sh(show), 0, expected);
}

TEST_F(Contract, Case016_OptionsAreThoseOfAPlainBash) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_RAN(sh("[[ $BASHOPTS == $(bash --norc -O expand_aliases -c 'echo $BASHOPTS') ]] || echo $BASHOPTS"), 0, "");
  }
}

// Whose shell was left as it was has the next command in the same one: that is what makes it fast.
TEST_F(Contract, Case016_CommandsThatLeaveNothingBehindShareAShell) {
  std::set<std::string> shells;
  for (int i = 0; i < 20; ++i) shells.insert(sh("echo $$; X=" + std::to_string(i)).output);
  EXPECT_LE(shells.size(), 16U);
}

TEST_F(Contract, Case017_UnsetStays) {
  EXPECT_RAN(sh("export FOO=bar"), 0, "");
  EXPECT_RAN(sh("unset FOO"), 0, "");
  EXPECT_RAN(sh("echo [$FOO]"), 0, "[]\n");
}

TEST_F(Contract, Case018_FunctionsAndAliasesStay) {
  EXPECT_RAN(sh("f(){ echo fn; }; alias aa='echo al'"), 0, "");
  EXPECT_RAN(sh("f; aa"), 0, "fn\nal\n");
}

TEST_F(Contract, Case019_PrivateFunctionsStayToo) {
  EXPECT_RAN(sh("_p(){ echo private; }; g(){ _p; }"), 0, "");
  EXPECT_RAN(sh("g"), 0, "private\n");
}

TEST_F(Contract, Case020_SetEEndsItsCommandOnly) {
  EXPECT_RAN(sh("set -e; false; echo no"), 1, "");
  EXPECT_RAN(sh("false; echo still"), 0, "still\n");
}

TEST_F(Contract, Case021_SetUEndsItsCommandOnly) {
  const Ran ran = sh("set -u; echo $NOPE");
  EXPECT_TRUE(ran.exited(127) || ran.exited(1)) << printable(ran);
  EXPECT_NE(ran.output.find("NOPE"), std::string::npos) << printable(ran);
  EXPECT_RAN(sh("echo ${NOPE}ok"), 0, "ok\n");
}

TEST_F(Contract, Case022_ExitKeepsDirectoryAndVariables) {
  const Ran ran = sh("cd /tmp; export A=1; exit 3");
  EXPECT_RAN(ran, 3, "");
  EXPECT_EQ(ran.outcome.cwd, "/tmp");
  EXPECT_RAN(sh("echo $A; pwd"), 0, "1\n/tmp\n");
}

TEST_F(Contract, Case023_SetEKeepsWhatWasSetBefore) {
  EXPECT_RAN(sh("set -e; export B=1; false"), 1, "");
  EXPECT_RAN(sh("echo $B"), 0, "1\n");
}

TEST_F(Contract, Case024_ValuesWithNewlinesAreNeverExecuted) {
  EXPECT_RAN(sh("export ML=$'a\\nb; echo PWN'; PLAIN=$'x\\n$(echo PWN)\\n`echo PWN`'"), 0, "");
  EXPECT_RAN(sh("echo \"$ML\"; echo \"$PLAIN\""), 0, "a\nb; echo PWN\nx\n$(echo PWN)\n`echo PWN`\n");
}

TEST_F(Contract, Case025_ReadonlyVariablesComeBackWithoutNoise) {
  EXPECT_RAN(sh("export RO=1; readonly RO"), 0, "");
  EXPECT_RAN(sh("echo ok $RO"), 0, "ok 1\n");
  EXPECT_RAN(sh("echo again $RO"), 0, "again 1\n");
}

TEST_F(Contract, Case026_AFunctionNamedEvalDoesNotBrickTheSession) {
  EXPECT_RAN(sh("eval(){ echo EV; }"), 0, "");
  EXPECT_RAN(sh("echo hi"), 0, "hi\n");
  EXPECT_RAN(sh("eval x; unset -f eval"), 0, "EV\n");
  EXPECT_RAN(sh("eval 'echo real'"), 0, "real\n");
}

TEST_F(Contract, Case027_AFunctionNamedBuiltinIsNotUsedByUs) {
  EXPECT_RAN(sh("builtin(){ echo hb; }"), 0, "");
  EXPECT_RAN(sh("pwd"), 0, scratch() + "\n");
  EXPECT_RAN(sh("cd /; pwd"), 0, "/\n");
}

TEST_F(Contract, Case028_ABrokenPathIsKeptLeaksNothingAndCanBeRepaired) {
  if (const std::string why = why_no_ls(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_RAN(sh("export PATH=/nonexistent"), 0, "");
  const Ran ran = sh("ls");
  EXPECT_TRUE(ran.exited(127)) << printable(ran);
  EXPECT_NE(ran.output.find("ls: "), std::string::npos) << printable(ran);
  EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1) << printable(ran);
  EXPECT_RAN(sh("echo $PATH"), 0, "/nonexistent\n");
  EXPECT_RAN(sh("export PATH=/usr/bin:/bin; ls -d /"), 0, "/\n");
}

TEST_F(Contract, Case029_AHugeExportedValueIsKeptAndLeaksNothing) {
  if (const std::string why = why_no_ls(); !why.empty()) GTEST_SKIP() << why;
  const std::string big(140000, 'v');
  EXPECT_RAN(sh("export BIG=" + big), 0, "");
  const Ran ran = sh("ls");
  EXPECT_TRUE(ran.exited(126)) << printable(ran);
  EXPECT_NE(ran.output.find("Argument list too long"), std::string::npos) << printable(ran);
  EXPECT_RAN(sh("echo ${#BIG}; unset BIG"), 0, "140000\n");
  EXPECT_RAN(sh("ls -d /"), 0, "/\n");
}

TEST_F(Contract, Case030_UmaskShoptAndPipefailStay) {
  EXPECT_RAN(sh("umask 077; shopt -s globstar; set -o pipefail"), 0, "");
  EXPECT_RAN(sh("umask; shopt -q globstar && echo globstar; false | true; echo $?"), 0, "0077\nglobstar\n1\n");
}

TEST_F(Contract, Case030_OptionsThatLockOutLimitsAndTrapsDoNotStay) {
  EXPECT_TRUE(sh("trap 'echo T' USR1; ulimit -n 99; set -e -u -v -x").exited(0));
  EXPECT_RAN(sh("case $- in *[euvxn]*) echo bad $-;; esac; trap -p USR1; test $(ulimit -n) -ne 99"), 0, "");
  EXPECT_EQ(sh("set -n\necho never").output, "");
  EXPECT_RAN(sh("echo on"), 0, "on\n");
}

TEST_F(Contract, Case031_ParallelCommandsOfOneSessionNeverTearItsState) {
  for (int round = 0; round < 10; ++round) {
    EXPECT_RAN(sh("unset X Y"), 0, "");
    Ran first;
    std::thread other([&] { first = sh("export X=1"); });
    const Ran second = sh("export Y=1");
    other.join();
    EXPECT_RAN(first, 0, "");
    EXPECT_RAN(second, 0, "");
    const Ran ran = sh("echo $X$Y");
    EXPECT_TRUE(ran.exited(0) && (ran.output == "1\n" || ran.output == "11\n")) << printable(ran);
  }
}

}  // namespace
}  // namespace cove::conformance
