// C: the directory, cases 37-52.

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

TEST_F(Contract, Case037_CdStays) {
  EXPECT_RAN(sh("cd / && pwd"), 0, "/\n");
  EXPECT_RAN(sh("pwd"), 0, "/\n");
}

TEST_F(Contract, Case038_AFailedCdChangesNothing) {
  const Ran ran = sh("cd /nope");
  EXPECT_TRUE(ran.exited(1)) << printable(ran);
  EXPECT_NE(ran.output.find("/nope"), std::string::npos) << printable(ran);
  EXPECT_EQ(ran.outcome.cwd, scratch());
  EXPECT_RAN(sh("pwd"), 0, scratch() + "\n");
}

TEST_F(Contract, Case039_AMissingDirectoryArgumentIs126AndAMessage) {
  const Ran ran = sh(CommandSpec{.script = "echo has run", .cwd = "/nope"});
  EXPECT_EQ(ran.code(), 126) << printable(ran);
  EXPECT_NE((ran.output + ran.outcome.error_text).find("/nope"), std::string::npos) << printable(ran);
  EXPECT_EQ(ran.output.find("has run"), std::string::npos) << printable(ran);
  EXPECT_RAN(sh("pwd"), 0, scratch() + "\n");
}

TEST_F(Contract, Case040_ThePhysicalDirectoryIsTold) {
  const Ran ran = sh("mkdir real; ln -s real l; cd l");
  EXPECT_RAN(ran, 0, "");
  EXPECT_EQ(ran.outcome.cwd, scratch() + "/real");
  EXPECT_RAN(sh("pwd -P"), 0, scratch() + "/real\n");
}

TEST_F(Contract, Case041_AnyNameIsADirectory) {
  for (const std::string name : {"-x", "a b", "q'q", "x\ny", "end\n", " lead", "$(echo no)", "*", "\xff\xfe", "\\"}) {
    SCOPED_TRACE(name);
    const std::string path = scratch() + "/" + name;
    const Ran ran = sh("mkdir -- " + quoted(path) + " && cd -- " + quoted(path));
    EXPECT_RAN(ran, 0, "");
    EXPECT_EQ(ran.outcome.cwd, path);
    EXPECT_RAN(sh("pwd"), 0, path + "\n");
    EXPECT_RAN(sh(CommandSpec{.script = "pwd", .cwd = path}), 0, path + "\n");
  }
}

TEST_F(Contract, Case042_ARemovedDirectoryFallsBackToTheNearestParent) {
  EXPECT_RAN(sh("mkdir -p d/e; cd d/e; rm -rf ../../d"), 0, "");
  EXPECT_RAN(sh("pwd"), 0, scratch() + "\n");
  EXPECT_RAN(sh("cd /; pwd"), 0, "/\n");
}

TEST_F(Contract, Case043_OutputWithoutNewlineDoesNotHideTheDirectory) {
  const Ran ran = sh("printf 'no newline'; cd /");
  EXPECT_RAN(ran, 0, "no newline");
  EXPECT_EQ(ran.outcome.cwd, "/");
}

TEST_F(Contract, Case044_ARedirectedShellIsStillTracked) {
  const Ran ran = sh("exec >/dev/null; cd /");
  EXPECT_RAN(ran, 0, "");
  EXPECT_EQ(ran.outcome.cwd, "/");
  EXPECT_RAN(sh("pwd"), 0, "/\n");
}

TEST_F(Contract, Case045_NothingPrintedCanForgeTheDirectory) {
  const Ran ran = sh("printf '\\n__COVE_CWD__/fake__COVE_CWD__\\n'; printf '\\0/fake\\0cwd=/fake\\0' >&2; exit 0");
  EXPECT_TRUE(ran.exited(0)) << printable(ran);
  EXPECT_EQ(ran.outcome.cwd, scratch());
  EXPECT_EQ(ran.output, std::string("\n__COVE_CWD__/fake__COVE_CWD__\n\0/fake\0cwd=/fake\0", 48));
}

TEST_F(Contract, Case046_SetThenExitTellsNothingWrong) {
  const Ran ran = sh("set; exit 0");
  EXPECT_TRUE(ran.exited(0)) << printable(ran);
  EXPECT_EQ(ran.outcome.cwd, scratch());
}

TEST_F(Contract, Case047_OnlyTheUsersTraceIsSeen) {
  const Ran ran = sh("set -x; echo hi");
  EXPECT_TRUE(ran.exited(0)) << printable(ran);
  // bash says the depth by the number of signs, and a command is one eval deep.
  EXPECT_EQ(ran.output.substr(std::min(ran.output.find_first_not_of('+'), ran.output.size())), " echo hi\nhi\n");
  EXPECT_RAN(sh("echo hi"), 0, "hi\n");
}

TEST_F(Contract, Case048_ATimeoutLeavesTheDirectory) {
  const Ran ran = sh_to_timeout("cd / && echo 1 >\"$OLDPWD/ready\" && sleep 999", {"ready"});
  EXPECT_EQ(ran.outcome.ending, Ending::timeout) << printable(ran);
  EXPECT_RAN(sh("pwd"), 0, scratch() + "\n");
}

TEST_F(Contract, Case049_TildeIsTheHomeInside) {
  const Ran at_home = sh("cd && mkdir -p 'a b' && pwd -P");
  ASSERT_TRUE(at_home.exited(0)) << printable(at_home);
  const std::string line = at_home.output;
  EXPECT_RAN(sh(CommandSpec{.script = "pwd -P", .cwd = "~"}), 0, line);
  EXPECT_RAN(sh(CommandSpec{.script = "pwd -P", .cwd = "~/"}), 0, line);
  EXPECT_RAN(sh(CommandSpec{.script = "pwd -P", .cwd = "~/a b"}), 0, line.substr(0, line.size() - 1) + "/a b\n");
}

TEST_F(Contract, Case050_AnotherUsersTildeIsExpandedInsideOrRefusedClearly) {
  const std::string line = sh("eval echo ~$(id -un)").output;
  const std::string user = sh("printf %s \"$(id -un)\"").output;
  const Ran known = sh(CommandSpec{.script = "pwd", .cwd = "~" + user});
  EXPECT_TRUE((known.exited(0) && known.output == line) || known.code() == 126) << printable(known);
  const Ran unknown = sh(CommandSpec{.script = "pwd", .cwd = "~nosuchuser/x"});
  EXPECT_EQ(unknown.code(), 126) << printable(unknown);
  EXPECT_NE((unknown.output + unknown.outcome.error_text).find("~nosuchuser"), std::string::npos) << printable(unknown);
}

TEST_F(Contract, Case051_EachSessionHasItsOwnDirectory) {
  EXPECT_RAN(run(sandbox(), {.script = "cd /usr", .session = "a51"}), 0, "");
  EXPECT_RAN(run(sandbox(), {.script = "cd /bin/..", .session = "b51"}), 0, "");
  EXPECT_RAN(run(sandbox(), {.script = "cd /etc", .session = "a51"}), 0, "");
  EXPECT_EQ(run(sandbox(), {.script = "pwd -P", .session = "b51"}).output.find("/etc"), std::string::npos);
  EXPECT_RAN(run(sandbox(), {.script = "pwd", .session = "a51"}), 0, "/etc\n");
}

TEST_F(Contract, Case052_ADirectoryGivenOnceIsForThatCallOnly) {
  EXPECT_RAN(sh(CommandSpec{.script = "pwd", .cwd = "/"}), 0, "/\n");
  EXPECT_RAN(sh("pwd"), 0, scratch() + "\n");
}

}  // namespace
}  // namespace cove::conformance
