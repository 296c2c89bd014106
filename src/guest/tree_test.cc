#include "guest/tree.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

namespace cove::guest {
namespace {

using namespace std::chrono_literals;

Result<std::unique_ptr<Tree>> start(Trees& trees, std::vector<std::string> argv) {
  os::ExecSpec spec;
  spec.program = argv[0];
  spec.argv = std::move(argv);
  spec.env = {"PATH=/usr/bin:/bin"};
  return Tree::start(trees, std::move(spec));
}

// How its program ended; nothing if it never ran, which is printed.
std::optional<os::ExitStatus> run(Trees& trees, std::vector<std::string> argv) {
  auto tree = start(trees, std::move(argv));
  if (!tree) return std::nullopt;
  std::optional<os::ExitStatus> ended;
  bool gone = false;
  (*tree)->listen({.started = {},
                   .failed = [](const Error& error) { std::puts(error.text().c_str()); },
                   .exited = [&](os::ExitStatus status) { ended = status; },
                   .gone = [&] { gone = true; }});
  while (!gone) trees.loop.turn();
  return ended;
}

// Between a reaper's vfork and its program two processes are in our memory; the second one is on the first one's stack,
// which the next tree would get.
TEST(Tree, EndedAtAnyMomentOfItsStartHarmsNoOther) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Loop loop;
  Trees trees(loop);
  for (int round = 0; round < 1000; ++round) {
    auto victim = start(trees, {"/bin/true"});
    ASSERT_TRUE(victim) << victim.error().text();
    const auto moment = Clock::now() + std::chrono::microseconds(round % 250);
    while (Clock::now() < moment) {}
    victim->reset();
    ASSERT_TRUE(os::descendants(getpid()).empty()) << "round " << round << ": it has left something";
    const auto next = run(trees, {"/bin/sh", "-c", "exit 7"});
    ASSERT_TRUE(next) << "round " << round;
    ASSERT_EQ(next->code, 7) << "round " << round << ", signal " << next->signal;
    while (waitpid(-1, nullptr, 0) > 0) {}
  }
}

}  // namespace
}  // namespace cove::guest
