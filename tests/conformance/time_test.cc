// F: time and kill, cases 67-77. The notices in brackets are the terminal tool's: the library tells the ending.

#include <future>
#include <thread>

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

void expect_timeout(const Ran& ran, const std::string& output) {
  EXPECT_EQ(ran.outcome.ending, Ending::timeout) << printable(ran);
  EXPECT_EQ(ran.outcome.exit_code, 124) << printable(ran);
  EXPECT_EQ(ran.output, output);
}

// Starts a process that tells its number in `pid`, as `how sh -c ...`, and stays.
std::string stays(const std::string& how) { return how + " sh -c 'echo $$ >pid; exec sleep 999'"; }

TEST_F(Contract, Case067_ATimeoutIs124InTime) {
  const auto attempt = [&] {
    const Ran ran = sh_to_timeout("sleep 999");
    expect_timeout(ran, "");
    EXPECT_GE(ran.took, Seconds(0.9));
    return ran.took;
  };
  EXPECT_EQ(too_slow(1.5s, attempt), "");
}

TEST_F(Contract, Case068_ATimeoutKeepsWhatWasPrinted) {
  expect_timeout(sh_to_timeout("echo part; printf more >&2; echo 1 >ready; sleep 999", {"ready"}), "part\nmore");
}

TEST_F(Contract, Case069_IgnoringTermDoesNotHelp) {
  // How long it has to get ready is not counted.
  const auto attempt = [&] {
    const auto timeout = 1s;
    EXPECT_RAN(sh("rm -f pid"), 0, "");
    const Ran ran = sh_to_timeout("trap '' TERM; " + stays(""), {"pid"});
    expect_timeout(ran, "");
    EXPECT_TRUE(dies_inside(read_inside("pid")));
    return ran.took - ran.timeout + timeout;
  };
  EXPECT_EQ(too_slow(4s, attempt), "");
}

TEST_F(Contract, Case070_SetsidDoesNotHelp) {
  const Ran ran = sh_to_timeout(stays("setsid -w"), {"pid"});
  expect_timeout(ran, "");
  EXPECT_TRUE(dies_inside(read_inside("pid")));
}

TEST_F(Contract, Case071_TheWholeTreeDiesAndTheSandboxLives) {
  if (const std::string why = why_orphans_are_lost(); !why.empty()) GTEST_SKIP() << why;
  // A shell of its own says its number: in a subshell, $$ is that of a parent which is gone.
  const std::string orphan = "(setsid sh -c 'trap \"\" TERM; sh -c \"echo \\$\\$ >pid; exec sleep 999\" &' &); ";
  const std::string inner = "sh -c 'sh -c \"echo \\$\\$ >inner; sleep 999\"; :'; sleep 999";
  expect_timeout(sh_to_timeout(orphan + inner, {"pid", "inner"}), "");
  EXPECT_TRUE(dies_inside(read_inside("pid"))) << "an orphan that called setsid lives on";
  EXPECT_TRUE(dies_inside(read_inside("inner"))) << "a grandchild lives on";
  EXPECT_RAN(sh("echo on"), 0, "on\n");
}

TEST_F(Contract, Case072_AfterATimeoutFilesAndSessionAreThere) {
  EXPECT_RAN(sh("echo kept >file; V=1"), 0, "");
  expect_timeout(sh_to_timeout("sleep 999"), "");
  EXPECT_RAN(sh("cat file; echo $V"), 0, "kept\n1\n");
}

TEST_F(Contract, Case073_ACommandsOwn124IsAnExit) { EXPECT_RAN(sh("timeout 0.3 sleep 999"), 124, ""); }

TEST_F(Contract, Case074_ACommandsOwn130IsAnExit) { EXPECT_RAN(sh("exit 130"), 130, ""); }

// Interrupts by `control` as soon as `seen` has been printed.
Ran interrupted(Sandbox& sandbox, const CommandSpec& command, Seconds& reaction) {
  Control control;
  std::promise<void> printed;
  bool told = false;
  const auto tell = [&](Stream, std::string_view) {
    if (!std::exchange(told, true)) printed.set_value();
  };
  Clock::time_point asked;
  std::jthread other([&, seen = printed.get_future()]() mutable {
    seen.wait_for(kPatience);
    asked = Clock::now();
    control.interrupt();
  });
  Ran ran = run(sandbox, command, {.output = tell, .control = &control});
  if (!told) printed.set_value();
  other.join();
  reaction = Clock::now() - asked;
  return ran;
}

TEST_F(Contract, Case075_AnInterruptIs130WithPartialOutputInTime) {
  const auto attempt = [&] {
    Seconds reaction{0};
    const Ran ran = interrupted(sandbox(), command("echo part; sleep 999"), reaction);
    EXPECT_EQ(ran.outcome.ending, Ending::interrupted) << printable(ran);
    EXPECT_EQ(ran.code(), 130);
    // Bash may be quick enough to say what became of its child before it is ended itself.
    EXPECT_TRUE(ran.output == "part\n" || ran.output == "part\nTerminated\n") << printable(ran);
    return reaction;
  };
  EXPECT_EQ(too_slow(1.5s, attempt), "");
}

TEST_F(Contract, Case075_AStopTokenInterruptsToo) {
  std::stop_source source;
  const auto stop = [&](Stream, std::string_view) { source.request_stop(); };
  Ran ran;
  const auto keep = [&](Stream stream, std::string_view bytes) {
    ran.output += bytes;
    stop(stream, bytes);
  };
  const auto begin = Clock::now();
  auto outcome =
      sandbox().run(command("echo $$ >pid; echo part; exec sleep 999"), {.output = keep}, {.stop = source.get_token()});
  EXPECT_LT(Clock::now() - begin, kPatience) << "it waited for the command";
  const bool told = outcome ? outcome->ending == Ending::interrupted : outcome.error().code == Errc::cancelled;
  EXPECT_TRUE(told) << (outcome ? "another ending" : outcome.error().text());
  EXPECT_EQ(ran.output, "part\n");
  EXPECT_TRUE(dies_inside(read_inside("pid")));
}

TEST_F(Contract, Case076_AnInterruptOfOneCommandDoesNotTouchAnothers) {
  Ran other;
  const std::string go = scratch() + "/go",
                    script = "echo 1 >" + scratch() + "/begun; until [ -e " + go + " ]; do sleep .02; done";
  std::jthread thread([&] { other = run(sandbox(), {.script = script + "; echo b", .session = "bystander"}); });
  EXPECT_TRUE(appears_inside("begun"));
  Seconds reaction{0};
  const Ran ran = interrupted(sandbox(), command("echo part; sleep 999"), reaction);
  EXPECT_EQ(ran.outcome.ending, Ending::interrupted) << printable(ran);
  EXPECT_RAN(sh("touch go"), 0, "");
  thread.join();
  EXPECT_RAN(other, 0, "b\n");
}

TEST_F(Contract, Case077_AnInterruptDuringAnApprovalWait) {
  std::stop_source source;
  bool asked = false;
  const auto approve = [&] { return asked = true, source.request_stop(), true; };
  const auto ran = sandbox().collect(command("echo ran"), {.approve = approve}, {.stop = source.get_token()});
  ASSERT_TRUE(ran) << ran.error().text();
  EXPECT_TRUE(asked);
  EXPECT_EQ(ran->output, "ran\n");
  EXPECT_EQ(ran->outcome.ending, Ending::exited);
}

TEST_F(Contract, Case077_WhatIsNotApprovedIsNotRun) {
  const auto ran = sandbox().collect(command("touch ran"), {.approve = [] { return false; }});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Errc::denied) << ran.error().text();
  EXPECT_RAN(sh("ls"), 0, "");
}

}  // namespace
}  // namespace cove::conformance
