// The same image in other hands: podman and docker, started and ended by the tests.

#include <unistd.h>

#include <optional>

#include "fixture.h"
#include "helpers/process.h"
#include "os/users.h"
#include "tree.h"

namespace cove::image_tests {
namespace {

using testing_helpers::eventually;
using testing_helpers::Seconds;

class PullEnginesTest : public PullTest {
 protected:
  void SetUp() override {
    PullTest::SetUp();
    if (IsSkipped()) return;
    if (geteuid() != 0) GTEST_SKIP() << "owners of files and mounts need root";
    podman_.emplace(folder_);
  }
  void TearDown() override {
    podman_.reset();
    PullTest::TearDown();
  }
  Ran podman(const std::string& words) const { return podman_->podman(words); }

  Tree our_tree(const std::string& name) const {
    auto images = store();
    const auto image = images.find(name);
    if (!image || !*image) return {{"", "there is no " + name}};
    const auto lowers = images.lowers(**image);
    if (!lowers) return {{"", lowers.error().text()}};
    return read_overlay(*lowers, os::find_users().uid, folder_);
  }
  Tree podmans_tree(const std::string& name) const {
    Ran mounted = podman("image mount " + name);
    while (!mounted.text.empty() && mounted.text.back() == '\n') mounted.text.pop_back();
    if (mounted.code != 0) return {{"", mounted.text}};
    return read_tree(mounted.text, 0);
  }

  std::optional<Podman> podman_;
};

TEST_F(PullEnginesTest, PodmanGetsTheSameFilesFromTheSameRegistry) {
  if (const std::string why = missing({"podman"}); !why.empty()) GTEST_SKIP() << why;
  const std::string name = registry_->host() + "/a/b:1";
  const Ran theirs = podman("pull --quiet --tls-verify=false " + name);
  ASSERT_EQ(theirs.code, 0) << theirs.text;
  const Ran ours = pull(name);
  ASSERT_EQ(ours.code, 0) << ours.text;
  const Tree tree = our_tree(name);
  EXPECT_GT(tree.size(), 25U);
  EXPECT_TRUE(tree.contains("/data/random"));
  EXPECT_FALSE(tree.contains("/etc/removed"));
  EXPECT_FALSE(tree.contains("/opt/gone/x"));
  EXPECT_EQ(difference(tree, podmans_tree(name)), "");
}

TEST_F(PullEnginesTest, StraightFromPodmansStorage) {
  if (const std::string why = missing({"podman"}); !why.empty()) GTEST_SKIP() << why;
  const std::string name = registry_->host() + "/a/b:1";
  ASSERT_EQ(podman("pull --quiet --tls-verify=false " + name).code, 0);
  const Ran ran = pull("containers-storage:" + name, podman_->env());
  ASSERT_EQ(ran.code, 0) << ran.text;
  EXPECT_EQ(difference(our_tree(name), podmans_tree(name)), "");
  const Ran again = pull("containers-storage:" + name, podman_->env());
  EXPECT_NE(again.text.find("up to date"), std::string::npos) << again.text;
  const Ran none = pull("containers-storage:localhost/nothing", podman_->env());
  EXPECT_EQ(none.code, 125);
  EXPECT_NE(none.text.find("podman save"), std::string::npos) << none.text;
}

TEST_F(PullEnginesTest, StraightFromADockerDaemon) {
  if (const std::string why = missing({"docker", "dockerd", "containerd"}); !why.empty()) GTEST_SKIP() << why;
  const std::string layout = folder_ + "/layout";
  Dockerd daemon(folder_);
  const std::string socket = daemon.socket();
  if (!daemon.ready()) GTEST_SKIP() << "dockerd does not start here: " << daemon.words();
  const Ran filled = shell("LAST=gzip " COVE_TEST_MAKE_IMAGE " " + layout + " && skopeo copy --dest-daemon-host " +
                           socket + " oci:" + layout + ":test docker-daemon:mine/tool:2 2>&1");
  EXPECT_EQ(filled.code, 0) << filled.text;
  const std::vector<std::string> env{"DOCKER_HOST=" + socket};
  const Ran ran = pull("docker-daemon:mine/tool:2", env);
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_TRUE(has("mine/tool:2"));
  EXPECT_TRUE(our_tree("mine/tool:2").contains("/data/random"));
  const Ran again = pull("docker-daemon:mine/tool:2", env);
  EXPECT_NE(again.text.find("up to date"), std::string::npos) << again.text;
  const Ran none = pull("docker-daemon:nothing", env);
  EXPECT_EQ(none.code, 125);
  EXPECT_NE(none.text.find("docker save nothing"), std::string::npos) << none.text;
}

TEST_F(PullEnginesTest, AnIndexGivesThisMachinesPlatformOrTheOneAskedFor) {
  const std::string host = registry_->host();
  const Ran pushed = shell("set -e; cd " + folder_ +
                           R"(; L=$PWD/two; export LARGE_BYTES=1000
one() { ARCHITECTURE=$1 )" COVE_TEST_MAKE_IMAGE
                           R"( $L; tr -d '\n' <$L/index.json | sed 's/.*"manifests": \[//; s/]}$//'; }
a=$(one amd64); b=$(one arm64)
printf '{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [%s, %s]}' "$b" "$a" >i
d=$(sha256sum i | cut -d' ' -f1); cp i $L/blobs/sha256/$d
printf '{"schemaVersion": 2, "manifests": [{"mediaType": "application/vnd.oci.image.index.v1+json", "digest": "sha256:%s",
 "size": %d, "annotations": {"org.opencontainers.image.ref.name": "two"}}]}' $d $(stat -c %s i) >$L/index.json
skopeo copy --all --preserve-digests --dest-tls-verify=false oci:$L:two docker://)" +
                           host + "/multi:1 2>&1");
  ASSERT_EQ(pushed.code, 0) << pushed.text;
  ASSERT_EQ(finish(start({"pull", "--platform", "linux/arm64", host + "/multi:1"})).code, 0);
  auto image = store().find(host + "/multi:1");
  ASSERT_TRUE(image && *image);
  EXPECT_EQ((*image)->config.architecture, "arm64");
  ASSERT_EQ(finish(start({"pull", "--platform", "linux/amd64", host + "/multi:1"})).code, 0);
  image = store().find(host + "/multi:1");
  ASSERT_TRUE(image && *image);
  EXPECT_EQ((*image)->config.architecture, "amd64");
  const Ran none = finish(start({"pull", "--platform", "linux/s390x", host + "/multi:1"}));
  EXPECT_EQ(none.code, 125);
  EXPECT_NE(none.text.find("arm64"), std::string::npos) << none.text;
  const Ran single = finish(start({"pull", "--platform", "linux/arm64", host + "/a/b:1"}));
  EXPECT_EQ(single.code, 125);
  EXPECT_NE(single.text.find("is for linux/amd64"), std::string::npos) << single.text;
}

}  // namespace
}  // namespace cove::image_tests
