// Many commands, one after the other and side by side: nothing grows.

#include <future>
#include <thread>

#include "faults/fixture.h"

namespace cove::faults {
namespace {

using testing_helpers::Held;
using testing_helpers::held_by;

class Soak : public Faults {
 protected:
  void watch(Sandbox& sandbox) {
    // The first commands fill caches, pools and the allocator; what counts is what comes after.
    many(sandbox, 100);
    pids_ = {keeper_of(sandbox.name()), guest_of(sandbox.name())};
    for (const pid_t pid : pids_) before_.push_back(held_by(pid));
    shells_ = testing_helpers::descendants_of(pids_[1]).size();
  }

  static void many(Sandbox& sandbox, int count) {
    for (int i = 0; i < count; ++i) {
      const auto done = sandbox.sh("echo " + std::to_string(i), soon());
      ASSERT_TRUE(done) << "command " << i << ": " << done.error().text();
      ASSERT_EQ(done->output, std::to_string(i) + "\n");
    }
  }

  void expect_no_growth(std::uint64_t memory) {
    for (std::size_t i = 0; i < pids_.size(); ++i) {
      SCOPED_TRACE(testing_helpers::command_line(pids_[i]));
      const auto settled = [&] {
        const Held now = held_by(pids_[i]);
        return now.descriptors <= before_[i].descriptors + 4 && now.threads <= before_[i].threads &&
               testing_helpers::zombies_of(pids_[i]).empty();
      };
      EXPECT_TRUE(eventually(settled))  // an idle shell is let go after ten
          << held_by(pids_[i]).descriptors << " descriptors, were " << before_[i].descriptors;
      EXPECT_LE(held_by(pids_[i]).memory_bytes, before_[i].memory_bytes + memory) << "was " << before_[i].memory_bytes;
    }
    const auto few = [&] { return testing_helpers::descendants_of(pids_[1]).size() <= shells_ + 1; };
    EXPECT_TRUE(eventually(few)) << testing_helpers::describe(testing_helpers::descendants_of(pids_[1]));
  }

 private:
  std::vector<pid_t> pids_;
  std::vector<Held> before_;
  std::size_t shells_ = 0;
};

// A thousand outcomes are remembered; a kilobyte each is generous, more would be a leak.
constexpr std::uint64_t kMemory = std::uint64_t{2} << 20;

TEST_F(Soak, AThousandCommandsInARowLeaveNothing) {
  Sandbox sandbox = create(make_spec());
  watch(sandbox);
  many(sandbox, 1000);
  expect_no_growth(kMemory);
}

TEST_F(Soak, TwoHundredCommandsAtOnceAllRunAndLeaveNothing) {
  Sandbox sandbox = create(make_spec());
  watch(sandbox);
  std::vector<Result<Completed>> all(200, fail(Errc::internal, "not run"));
  {
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < all.size(); ++i) {
      callers.emplace_back([&, i] {
        const CommandSpec spec{.script = "read x; echo $x; sleep .2; exit " + std::to_string(i % 100),
                               .session = "s" + std::to_string(i % 10)};
        all[i] = sandbox.collect(spec, {.stdin_bytes = "in"}, soon());
      });
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i]) << "command " << i << ": " << all[i].error().text();
    EXPECT_EQ(all[i]->outcome.exit_code, static_cast<int>(i % 100));
    EXPECT_EQ(all[i]->output, "in\n");
  }
  expect_no_growth(std::uint64_t{8} << 20);
}

TEST_F(Soak, OneThatPrintsForeverStopsNobodyElse) {
  Sandbox sandbox = create(make_spec());
  const auto loud = sandbox.start({.script = "yes", .session = "loud"}, soon());
  ASSERT_TRUE(loud) << loud.error().text();
  many(sandbox, 50);
  EXPECT_TRUE(sandbox.signal(*loud, {.signal = 0, .grace_ms = 500}, soon()));
  const auto end = sandbox.attach({.id = *loud}, {}, soon());
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_NE(end->ending, Ending::running);
}

TEST_F(Soak, AReaderThatDoesNotReadStopsNobodyElse) {
  Sandbox sandbox = create(make_spec());
  std::promise<void> begun;
  std::jthread slow([&] {
    std::size_t pieces = 0;
    const auto dawdle = [&](Stream, std::string_view) {
      if (pieces == 0) begun.set_value();
      if (++pieces % 16 == 0) std::this_thread::sleep_for(20ms);  // slowness itself, not a way to wait
    };
    (void)sandbox.run({.script = "head -c 100000000 /dev/zero", .session = "slow"}, {.output = dawdle}, soon());
  });
  ASSERT_EQ(begun.get_future().wait_for(kPatience), std::future_status::ready);
  many(sandbox, 50);
}

}  // namespace
}  // namespace cove::faults
