// Snapshots of containers are images of the engine.

#include "engines/engine.h"

namespace cove::engines {
namespace {

std::string layer_images() { return engine("images --quiet --filter label=cove.layer").out; }

TEST(Snapshot, FilesAndSessionsComeBackAndForksGoTheirOwnWays) {
  SandboxSpec spec = make_spec();
  Sandbox sandbox = create(spec);
  EXPECT_EQ(said(sandbox, "echo 1 >/usr/file; echo 1 >/workspace/file; X=1; cd /opt; echo ok"), "ok\n");
  const std::string tag = "tag-" + spec.name;
  const auto saved = sandbox.snapshot(tag, soon());
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_EQ(said(sandbox, "cat /usr/file; pwd; echo $X"), "1\n/opt\n1\n") << "it goes on";
  EXPECT_EQ(said(sandbox, "echo 2 >/usr/file; rm /workspace/file; X=2; echo ok"), "ok\n");
  {
    SandboxSpec other = make_spec();
    other.from = tag;
    Sandbox from = create(other);
    EXPECT_EQ(said(from, "cat /usr/file /workspace/file; pwd; echo $X"), "1\n1\n/opt\n1\n");
  }
  {
    auto forks = sandbox.fork(2, soon());
    ASSERT_TRUE(forks) << forks.error().text();
    EXPECT_EQ(said((*forks)[0], "cat /usr/file; echo $X; echo 3 >/usr/file"), "2\n2\n");
    EXPECT_EQ(said((*forks)[1], "cat /usr/file"), "2\n");
    EXPECT_EQ(said(sandbox, "cat /usr/file"), "2\n");
  }
  const auto restored = sandbox.restore(tag, soon());
  ASSERT_TRUE(restored) << restored.error().text();
  EXPECT_EQ(said(sandbox, "cat /usr/file /workspace/file; pwd; echo $X"), "1\n1\n/opt\n1\n");
  EXPECT_EQ(run_cove({"snapshot", "rm", tag}).code, 0);
  ASSERT_TRUE(sandbox.stop({.remove = true}, soon()));
  run_cove({"gc"});
  EXPECT_EQ(layer_images(), "");
}

}  // namespace
}  // namespace cove::engines
