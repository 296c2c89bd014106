// K: commands in the background and their ids, cases 133-135 and 138-140.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "conformance/fixture.h"
#include "helpers/program.h"

namespace cove::conformance {
namespace {

Call soon() { return {.deadline = Deadline::after(kPatience)}; }

Outcome status(Sandbox& sandbox, const std::string& id) {
  auto outcome = sandbox.status(id, soon());
  EXPECT_TRUE(outcome) << outcome.error().text();
  return outcome.value_or(Outcome{});
}

Outcome wait_for(Sandbox& sandbox, const std::string& id) {
  auto outcome = sandbox.attach({.id = id}, {}, soon());
  EXPECT_TRUE(outcome) << outcome.error().text();
  return outcome.value_or(Outcome{});
}

TEST_F(Contract, Case133_ABackgroundCommandRunsThenHasExitedOnce) {
  const std::string id = start("until [ -e go ]; do sleep .02; done; echo bye; exit 3");
  EXPECT_EQ(status(sandbox(), id).ending, Ending::running);
  EXPECT_RAN(sh("touch go"), 0, "");
  std::string output;
  const auto keep = [&](Stream, std::string_view bytes) { output += bytes; };
  const auto end = sandbox().attach({.id = id}, {.output = keep}, soon());
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_EQ(end->ending, Ending::exited);
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(output, "bye\n");
  EXPECT_EQ(status(sandbox(), id).exit_code, 3);
  const auto all = sandbox().commands();
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(std::count_if(all->begin(), all->end(), [&](const Outcome& one) { return one.id == id; }), 1);
}

TEST_F(Contract, Case134_KillEndsATermIgnoringGrandchild) {
  if (const std::string why = why_orphans_are_lost(); !why.empty()) GTEST_SKIP() << why;
  const std::string id =
      start("sh -c 'trap \"\" TERM; setsid sh -c \"echo \\$\\$ >pid; exec sleep 999\" & wait; sleep 999'");
  ASSERT_TRUE(appears_inside("pid"));
  const auto killed = sandbox().signal(id, {.signal = 0, .grace_ms = 300});
  EXPECT_TRUE(killed) << killed.error().text();
  EXPECT_NE(wait_for(sandbox(), id).ending, Ending::running);
  EXPECT_TRUE(dies_inside(read_inside("pid")));
}

// A stranger with a chosen number: the kernel gives out the one after ns_last_pid. 0: not allowed, or taken.
pid_t stranger_with_pid(pid_t wanted) {
  std::ofstream last("/proc/sys/kernel/ns_last_pid");
  last << wanted - 1 << std::flush;
  if (!last) return 0;
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  if (child < 0 || child == wanted) return std::max(child, 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 0;
}

constexpr const char* kAlone = "COVETEST_OWN_PIDS";

// Once more, this one test, where pids are nobody else's: numbers used twice are a danger to every process that sees
// them.
testing_helpers::Running run_alone() {
  auto again =
      testing_helpers::start_program({"/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                                      std::filesystem::read_symlink("/proc/self/exe"), "--gtest_filter=*Case135*"},
                                     {std::string(kAlone) + "=1", "COVE_CONFORMANCE_REPORT="});
  if (!again) throw std::runtime_error(again.error().text());
  return std::move(*again);
}

TEST_F(Contract, Case135_ARecycledPidIsNeverSignalled) {
  if (std::getenv(kAlone) == nullptr) {
    auto again = run_alone();
    const bool told = again.says("[==========] 1 test from 1 test suite ran");
    if (!told) GTEST_SKIP() << "no pid namespace can be made here: " << again.heard.substr(0, 200);
    const auto status = again.child.wait(Deadline::after(kPatience));
    ASSERT_TRUE(status) << status.error().text();
    if (again.heard.find("[  SKIPPED ]") != std::string::npos)
      GTEST_SKIP() << "this kernel does not let us choose a pid";
    EXPECT_EQ(status->code, 0) << again.heard;
    return;
  }
  pid_t stranger = 0;
  std::string id;
  for (int tries = 0; tries < 50 && stranger == 0; ++tries) {
    id = start("echo $$ >pid; exit 0");
    ASSERT_EQ(wait_for(sandbox(), id).ending, Ending::exited);
    stranger = stranger_with_pid(std::stoi("0" + read_inside("pid")));
  }
  if (stranger == 0) GTEST_SKIP();
  for (const int signal : {9, 0}) {
    const auto sent = sandbox().signal(id, {.signal = signal, .grace_ms = 10});
    EXPECT_TRUE(sent || sent.error().code != Errc::internal) << sent.error().text();
  }
  EXPECT_EQ(status(sandbox(), id).ending, Ending::exited);
  EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), 0) << "a stranger was killed";
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
}

TEST_F(Contract, Case138_ABackgroundCommandStartsInItsDirectory) {
  CommandSpec here = command("pwd -P");
  here.cwd = "/usr";
  const auto id = sandbox().start(here);
  ASSERT_TRUE(id) << id.error().text();
  std::string output;
  const auto keep = [&](Stream, std::string_view bytes) { output += bytes; };
  ASSERT_TRUE(sandbox().attach({.id = *id}, {.output = keep}, soon()));
  EXPECT_EQ(output, "/usr\n");
}

TEST_F(Contract, Case139_WaitingTooShortIsNotTheCommandsEnd) {
  const std::string id = start("sleep 999");
  const auto waited = sandbox().attach({.id = id}, {}, {.deadline = Deadline::after(200ms)});
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Errc::timeout) << waited.error().text();
  EXPECT_EQ(status(sandbox(), id).ending, Ending::running);
  EXPECT_TRUE(sandbox().signal(id, {.signal = 0, .grace_ms = 100}));
  EXPECT_NE(wait_for(sandbox(), id).ending, Ending::running);
}

TEST_F(Contract, Case140_WhatCouldNotStartIsNeverCalledRunning) {
  const Outcome syntax = wait_for(sandbox(), start("if then"));
  EXPECT_EQ(syntax.ending, Ending::exited);
  EXPECT_EQ(syntax.exit_code, 2);
  const auto missing = sandbox().start({.argv = {"/nonexistent/program"}});
  if (!missing) {
    EXPECT_EQ(missing.error().code, Errc::not_found) << missing.error().text();
    return;
  }
  const auto end = sandbox().attach({.id = *missing}, {}, soon());
  EXPECT_FALSE(end && end->error_text.empty() && end->exit_code == 0) << "a program that is not there has worked";
  EXPECT_NE(status(sandbox(), *missing).ending, Ending::running);
}

}  // namespace
}  // namespace cove::conformance
