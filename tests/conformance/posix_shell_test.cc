// Principle 9: the basic, state, directory, stdin and kill cases once more where there is only a POSIX sh.

#include <filesystem>
#include <optional>
#include <ostream>

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

namespace fs = std::filesystem;

struct Shell {
  std::string name, program;
  friend void PrintTo(const Shell& shell, std::ostream* out) { *out << shell.name; }
};

// A directory that has this shell as `sh` and no bash, as it is inside.
std::string as_sh(SandboxSpec& spec, const Shell& shell) {
  const std::string directory = home().make_directory("shell-" + shell.name);
  if (!fs::exists(directory + "/sh")) fs::create_symlink(shell.program, directory + "/sh");
  return testing_helpers::shown_inside(spec, directory) + "/sh";
}

class PosixShell : public Contract, public ::testing::WithParamInterface<Shell> {
 protected:
  void SetUp() override {
    if (!fs::exists(GetParam().program)) GTEST_SKIP() << GetParam().program << " is not installed";
    Contract::SetUp();
  }
  static void TearDownTestSuite() { sandbox_.reset(); }
  Sandbox& sandbox() override {
    if (!sandbox_ || shell_ != GetParam().name) {
      SandboxSpec spec = make_spec();
      set_env(spec, "COVE_SHELL", as_sh(spec, GetParam()));
      sandbox_.reset();
      sandbox_.emplace(create(spec));
      shell_ = GetParam().name;
    }
    return *sandbox_;
  }

 private:
  static inline std::optional<Sandbox> sandbox_;
  static inline std::string shell_;
};

TEST_P(PosixShell, P9_TheShellIsNotBash) { EXPECT_RAN(sh("echo [$BASH_VERSION]"), 0, "[]\n"); }

TEST_P(PosixShell, Case001_EchoGivesItsLineAndNothingElse) {
  EXPECT_RAN(sh("echo hi"), 0, "hi\n");
  EXPECT_RAN(sh("printf hi"), 0, "hi");
  EXPECT_RAN(sh(""), 0, "");
}

TEST_P(PosixShell, Case005_ExitCodesAreTold) {
  EXPECT_RAN(sh("false"), 1, "");
  EXPECT_RAN(sh("(exit 42)"), 42, "");
  EXPECT_RAN(sh("exit 42"), 42, "");
  EXPECT_RAN(sh("exec sh -c 'exit 7'"), 7, "");
  EXPECT_EQ(sh("kill -9 $$").outcome.signal, 9);
  EXPECT_RAN(sh("echo on"), 0, "on\n");
}

TEST_P(PosixShell, Case011_ASyntaxErrorLeavesTheSession) {
  const Ran ran = sh("echo 'unbal");
  EXPECT_EQ(ran.code(), 2) << printable(ran);
  EXPECT_FALSE(ran.output.empty());
  EXPECT_RAN(sh("echo on"), 0, "on\n");
}

TEST_P(PosixShell, Case012_HereDocumentsAndLongCommandsRun) {
  EXPECT_RAN(sh("cat <<E\nhello 'q'\nE"), 0, "hello 'q'\n");
  EXPECT_RAN(sh("L='" + std::string(200 << 10, 'x') + "'; echo ${#L}; unset L"), 0, "204800\n");
}

TEST_P(PosixShell, Case016_VariablesStayAndStayUnexported) {
  EXPECT_RAN(sh("export FOO=bar; BAZ=1; QUOTES=\"it's \\\"\\$x\\\"\""), 0, "");
  EXPECT_RAN(sh("echo $FOO/$BAZ; echo \"$QUOTES\"; env | grep -c ^BAZ"), 1, "bar/1\nit's \"$x\"\n0\n");
  EXPECT_RAN(sh("unset FOO"), 0, "");
  EXPECT_RAN(sh("echo [$FOO]"), 0, "[]\n");
}

TEST_P(PosixShell, Case018_AliasesStay) {
  EXPECT_RAN(sh("alias aa='echo al'"), 0, "");
  EXPECT_RAN(sh("aa"), 0, "al\n");
}

TEST_P(PosixShell, Case020_SetEAndSetUEndTheirCommandOnly) {
  EXPECT_RAN(sh("set -e; A=1; false; echo no"), 1, "");
  EXPECT_RAN(sh("false; echo still $A"), 0, "still 1\n");
  EXPECT_NE(sh("set -u; echo $NOPE").code(), 0);
  EXPECT_RAN(sh("echo ${NOPE}ok"), 0, "ok\n");
}

TEST_P(PosixShell, Case022_ExitKeepsDirectoryAndVariables) {
  EXPECT_RAN(sh("cd /tmp; export A=1; exit 3"), 3, "");
  EXPECT_RAN(sh("echo $A; pwd"), 0, "1\n/tmp\n");
}

TEST_P(PosixShell, Case024_ValuesWithNewlinesAreNeverExecuted) {
  EXPECT_RAN(sh("export ML='a\nb; echo PWN\n$(echo PWN)'"), 0, "");
  EXPECT_RAN(sh("echo \"$ML\""), 0, "a\nb; echo PWN\n$(echo PWN)\n");
}

TEST_P(PosixShell, Case028_ABrokenPathIsKeptAndCanBeRepaired) {
  EXPECT_RAN(sh("export PATH=/nonexistent"), 0, "");
  EXPECT_RAN(sh("echo $PATH"), 0, "/nonexistent\n");
  EXPECT_RAN(sh("export PATH=/usr/bin:/bin; dirname /a/b"), 0, "/a\n");
}

TEST_P(PosixShell, Case030_TheUmaskStays) {
  EXPECT_RAN(sh("umask 077"), 0, "");
  EXPECT_RAN(sh("umask"), 0, "0077\n");
}

TEST_P(PosixShell, Case037_TheDirectoryStaysAndIsToldTruly) {
  EXPECT_RAN(sh("mkdir 'a b' && cd 'a b'"), 0, "");
  EXPECT_RAN(sh("pwd"), 0, scratch() + "/a b\n");
  EXPECT_EQ(sh(CommandSpec{.script = "echo ran", .cwd = "/nope"}).code(), 126);
  EXPECT_RAN(sh(CommandSpec{.script = "pwd", .cwd = "/"}), 0, "/\n");
  EXPECT_RAN(sh("cd .. && rmdir 'a b' && mkdir d && cd d && rmdir ../d"), 0, "");
  EXPECT_RAN(sh("pwd"), 0, scratch() + "\n");
}

TEST_P(PosixShell, Case047_OnlyTheUsersTraceIsSeen) { EXPECT_RAN(sh("set -x; echo hi"), 0, "+ echo hi\nhi\n"); }

TEST_P(PosixShell, Case053_BothStreamsComeInTrueOrder) {
  EXPECT_RAN(sh("echo err >&2; echo out; echo err >&2"), 0, "err\nout\nerr\n");
}

TEST_P(PosixShell, Case061_StdinArrivesExactlyAndIsNeverExecuted) {
  EXPECT_RAN(sh("cat"), 0, "");
  EXPECT_RAN(sh_with_stdin("cat", std::string("a\0\xff", 3)), 0, std::string("a\0\xff", 3));
  EXPECT_RAN(sh_with_stdin("read a; read b; echo $a$b", "l1\nl2\n"), 0, "l1l2\n");
  EXPECT_RAN(sh_with_stdin("echo hi # c", "echo PWN\n"), 0, "hi\n");
}

TEST_P(PosixShell, Case067_ATimeoutEndsTheWholeTree) {
  const Ran ran =
      sh_to_timeout("echo part; trap '' TERM; setsid sh -c 'echo $$ >pid; exec sleep 999' & sleep 999", {"pid"});
  EXPECT_EQ(ran.outcome.ending, Ending::timeout) << printable(ran);
  EXPECT_EQ(ran.output, "part\n");
  EXPECT_TRUE(dies_inside(read_inside("pid")));
}

TEST_P(PosixShell, Case078_ABackgroundJobNeitherBlocksNorDies) {
  const Ran ran = sh("sleep 999 & echo $! >pid; echo bg");
  EXPECT_RAN(ran, 0, "bg\n");
  EXPECT_LT(ran.took, kPatience) << "it waited for the job";
  const std::string pid = read_inside("pid");
  EXPECT_TRUE(alive_inside(pid));
  sh("kill " + pid);
  EXPECT_TRUE(dies_inside(pid));
}

TEST_P(PosixShell, P2_NoDescriptorBeyondThreeIsInherited) {
  EXPECT_RAN(sh("sh -c 'for f in /proc/$$/fd/*; do [ -e \"$f\" ] && echo ${f##*/}; done; :'"), 0, "0\n1\n2\n");
}

INSTANTIATE_TEST_SUITE_P(Shells, PosixShell,
                         ::testing::Values(Shell{"dash", "/bin/dash"}, Shell{"busybox", "/bin/busybox"}),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace cove::conformance
