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

TEST(Snapshot, OfAPersistentSandboxHoldsItsDirectoriesAndLaterChangesStay) {
  SandboxSpec spec = lasting_spec();
  spec.persistent = true;
  Sandbox sandbox = create(spec);
  const std::string tag = "tag-" + spec.name;
  EXPECT_EQ(said(sandbox, "echo 1 | tee /usr/file /workspace/file ~/file; X=1"), "1\n");
  const auto saved = sandbox.snapshot(tag, soon());
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_EQ(said(sandbox, "echo 2 | tee /usr/file /workspace/file ~/file"), "2\n");
  {
    SandboxSpec other = make_spec();
    other.from = tag;
    Sandbox from = create(other);
    EXPECT_EQ(said(from, "cat /usr/file /workspace/file ~/file; echo $X"), "1\n1\n1\n1\n");
  }
  ASSERT_TRUE(sandbox.stop({}, soon()));
  auto again = Sandbox::restart(spec.name, soon());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->notes(), "") << "a snapshot is no reason to make its container anew";
  EXPECT_EQ(said(*again, "cat /usr/file /workspace/file ~/file"), "2\n2\n2\n");
  const auto restored = again->restore(tag, soon());
  ASSERT_TRUE(restored) << restored.error().text();
  EXPECT_EQ(said(*again, "cat /usr/file /workspace/file ~/file"), "1\n1\n1\n");
  ASSERT_TRUE(again->stop({.remove = true}, soon()));
  EXPECT_EQ(run_cove({"snapshot", "rm", tag}).code, 0);
  run_cove({"gc"});
  EXPECT_EQ(layer_images(), "");
  EXPECT_EQ(containers_of(spec.name), "");
}

TEST(Snapshot, IsExportedAsAnImageThatOthersTake) {
  SandboxSpec spec = make_spec();
  const std::string tag = "tag-" + spec.name, file = home().root() + "/snapshot.tar";
  {
    Sandbox sandbox = create(spec);
    EXPECT_EQ(said(sandbox, "echo 1 >/usr/file; rm /etc/passwd; X=1; cd /opt; echo ok"), "ok\n");
    ASSERT_TRUE(sandbox.snapshot(tag, soon()));
  }
  const Done exported = run_cove({"snapshot", "export", tag, file});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_EQ(run_cove({"snapshot", "rm", tag}).code, 0);
  EXPECT_EQ(run_cove({"gc"}).code, 0);
  EXPECT_EQ(layer_images(), "");
  ASSERT_EQ(engine("load -i " + file).code, 0);
  EXPECT_EQ(engine("run --rm --network none --ulimit nofile=1000:1000 --ulimit nproc=1000:1000 localhost/snapshot:" +
                   tag + " sh -c 'cat /usr/file; ls /etc/passwd; echo $GREETING' 2>/dev/null")
                .out,
            "1\nhello\n");
  engine("rmi -f localhost/snapshot:" + tag);
  ASSERT_EQ(run_cove({"snapshot", "import", file, tag}).code, 0);
  const Done ran =
      run_cove({"run", "--backend", "native", "--from", tag, "--", "cat /usr/file; pwd; echo $X"}, {"COVE_IMAGE="});
  EXPECT_EQ(ran.out, "1\n/opt\n1\n") << ran.err;
  EXPECT_EQ(run_cove({"snapshot", "rm", tag}).code, 0);
}

}  // namespace
}  // namespace cove::engines
