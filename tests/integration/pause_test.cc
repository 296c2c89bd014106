// A sandbox that is paused and goes on, on the backend that COVE_TEST_BACKEND names.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "client/cove.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "record/record.h"

namespace cove {
namespace {

using namespace std::chrono_literals;
using namespace testing_helpers;

class Pause : public testing::Test {
 protected:
  void SetUp() override {
    auto made = Sandbox::create(make_spec(), {});
    ASSERT_TRUE(made) << made.error().text();
    sandbox_.emplace(std::move(*made));
    const auto id = sandbox_->start(
        {.script = "i=0; while :; do i=$((i+1)); echo $$ $i >count.new; mv count.new count; sleep .05; done"}, {});
    ASSERT_TRUE(id) << id.error().text();
    id_ = *id;
    ASSERT_TRUE(eventually([&] { return count().second > 3; }));
  }
  // The counter's process and how far it is.
  std::pair<int, int> count() {
    std::pair<int, int> now{0, 0};
    const auto text = sandbox_->read_file("/workspace/count", {});
    if (text) std::sscanf(text->c_str(), "%d %d", &now.first, &now.second);
    return now;
  }
  std::string state() const {
    const auto record = record::Record::open(sandbox_->name());
    const auto info = record ? record->info() : Result<record::Info>(fail(record.error()));
    return info ? std::string(record::state_of(*info)) : info.error().text();
  }
  // What goes on inside, seen from here: below the guest, or below gVisor.
  std::vector<pid_t> moving() const {
    std::vector<pid_t> found;
    const std::string lock = slurp(home().path() + "/sandboxes/" + sandbox_->name() + "/lock");
    for (const pid_t guest : children_of(static_cast<pid_t>(std::atoi(lock.c_str())))) {
      for (const pid_t pid : descendants_of(guest)) {
        const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
        const std::size_t name_end = stat.rfind(')');
        if (name_end != std::string::npos && std::strchr("TtZX", stat[name_end + 2]) == nullptr) found.push_back(pid);
      }
    }
    return found;
  }
  std::optional<Sandbox> sandbox_;
  std::string id_;
};

TEST_F(Pause, ACounterContinuesWhereItWas) {
  const auto before = count();
  EXPECT_NE(describe(moving()), "") << "the look finds nothing";
  const auto paused = sandbox_->pause();
  if (!paused && paused.error().code == Errc::unsupported) GTEST_SKIP() << paused.error().message;
  ASSERT_TRUE(paused) << paused.error().text();
  EXPECT_EQ(state(), "paused");
  // One that hangs in the kernel stops when it comes out of it.
  EXPECT_TRUE(eventually([&] { return moving().empty(); })) << describe(moving());
  const auto refused = sandbox_->start({.script = "true"}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::busy);
  EXPECT_NE(refused.error().message.find("cove resume"), std::string::npos) << refused.error().message;
  const auto resumed = sandbox_->resume();
  ASSERT_TRUE(resumed) << resumed.error().text();
  EXPECT_EQ(state(), "running");
  ASSERT_TRUE(eventually([&] { return count().second > before.second + 3; }));
  EXPECT_EQ(count().first, before.first);  // it is the same process, not a new one
  // ... and the keeper still knows it.
  ASSERT_TRUE(sandbox_->signal(id_, {.signal = 9}));
  EXPECT_TRUE(sandbox_->resume());  // nothing to do
}

}  // namespace
}  // namespace cove

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cove::testing_helpers::home();
  const int code = RUN_ALL_TESTS();
  std::string left;
  cove::testing_helpers::eventually([&] { return (left = cove::testing_helpers::home().leftovers()).empty(); });
  if (!left.empty()) std::fprintf(stderr, "left: %s\n", left.c_str());
  return left.empty() ? code : 1;
}
