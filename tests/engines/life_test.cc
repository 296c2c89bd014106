// Containers that stay, that come back, and that nobody looks after any more.

#include <csignal>
#include <filesystem>

#include "engines/engine.h"

namespace cove::engines {
namespace {

TEST(Crash, AKeeperThatIsKilledLeavesNoContainer) {
  const SandboxSpec spec = lasting_spec();
  Sandbox sandbox = create(spec);
  ASSERT_TRUE(sandbox.start({.script = "setsid sleep 1000 & sleep 1000"}, soon()));
  EXPECT_NE(containers_of(spec.name), "");
  kill(keeper_of(spec.name), SIGKILL);
  // The guest is gone in seconds; an engine takes its time to remove a container when others are busy with it.
  EXPECT_TRUE(eventually([&] { return containers_of(spec.name).empty(); })) << containers_of(spec.name);
  EXPECT_EQ(run_cove({"rm", "--force", spec.name}).code, 0);
}

// A guest that cannot even end itself.
TEST(Crash, GcFindsAContainerWhoseKeeperIsGoneAndNoStrangers) {
  const SandboxSpec spec = lasting_spec();
  Sandbox sandbox = create(spec);
  const std::string stranger = "stranger-" + spec.name;
  ASSERT_EQ(engine("run -d --rm --network none --ulimit nofile=1000:1000 --ulimit nproc=1000:1000 --name " + stranger +
                   " cove-test:full sleep 1000")
                .code,
            0);
  EXPECT_EQ(run_cove({"gc"}).out.find(spec.name), std::string::npos) << "it runs";
  ASSERT_EQ(engine("pause " + containers_of(spec.name)).code, 0);
  kill(keeper_of(spec.name), SIGKILL);
  Done gc;
  EXPECT_TRUE(eventually([&] {
    return (gc = run_cove({"gc"})).out.find("container " + spec.name) != std::string::npos;
  })) << gc.out
      << gc.err;
  EXPECT_EQ(containers_of(spec.name), "");
  EXPECT_NE(engine("ps -q --filter name=" + stranger).out, "");
  engine("rm -f " + stranger);
  EXPECT_EQ(run_cove({"rm", "--force", spec.name}).code, 0);
}

TEST(Persistent, FilesOfTheWholeContainerAreThereAfterAStop) {
  SandboxSpec spec = lasting_spec();
  spec.persistent = true;
  Sandbox sandbox = create(spec);
  EXPECT_EQ(said(sandbox, "echo 1 >/usr/installed; echo 2 >/workspace/f; echo 3 >~/f; cd /opt; X=4; echo ok"), "ok\n");
  ASSERT_TRUE(sandbox.stop({}, soon()));
  EXPECT_NE(containers_of(spec.name), "");
  EXPECT_EQ(run_cove({"gc"}).out.find(spec.name), std::string::npos) << "a stopped sandbox keeps its container";
  auto again = Sandbox::restart(spec.name, soon());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->notes(), "");
  EXPECT_EQ(said(*again, "cat /usr/installed /workspace/f ~/f; pwd; echo $X"), "1\n2\n3\n/opt\n4\n");
  ASSERT_TRUE(again->stop({}, soon()));
  ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
  EXPECT_EQ(containers_of(spec.name), "");
  EXPECT_FALSE(std::filesystem::exists(home().path() + "/sandboxes/" + spec.name));
}

// Case 102.
TEST(Persistent, AContainerOfAnotherImageIsReplacedAndSaysSo) {
  SandboxSpec spec = lasting_spec();
  spec.persistent = true;
  spec.image = "cove-test:moved-" + spec.name;
  ASSERT_EQ(engine("tag cove-test:full " + spec.image).code, 0);
  Sandbox sandbox = create(spec);
  EXPECT_EQ(said(sandbox, "echo 1 >/usr/installed; echo 2 >/workspace/f; echo ok"), "ok\n");
  ASSERT_TRUE(sandbox.stop({}, soon()));
  ASSERT_EQ(engine("tag cove-test:busybox " + spec.image).code, 0);
  auto again = Sandbox::restart(spec.name, soon());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_NE(again->notes().find("image"), std::string::npos) << again->notes();
  EXPECT_EQ(said(*again, "cat /workspace/f; ls /usr/installed 2>/dev/null"), "2\n");
  ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
  EXPECT_EQ(containers_of(spec.name), "");
  engine("rmi -f " + spec.image);
}

TEST(Names, AContainerOfAStrangerWithOurNameIsLeftAlone) {
  const SandboxSpec first = lasting_spec();
  std::string name;
  {
    Sandbox sandbox = create(first);
    name = engine("inspect --format '{{.Name}}' " + containers_of(first.name)).out;
    ASSERT_TRUE(sandbox.stop({}, soon()));
  }
  name = name.substr(name.find_first_not_of('/'));
  name.erase(name.find_last_not_of('\n') + 1);
  ASSERT_TRUE(name.starts_with("cove-") && name.ends_with(first.name)) << name;
  ASSERT_EQ(engine("run -d --rm --network none --ulimit nofile=1000:1000 --ulimit nproc=1000:1000 --name " + name +
                   " cove-test:full sleep 1000")
                .code,
            0);
  const auto refused = Sandbox::create(first, soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict) << refused.error().text();
  EXPECT_NE(engine("ps -q --filter name=" + name).out, "");
  engine("rm -f " + name);
}

}  // namespace
}  // namespace cove::engines
