// `cove image pull` against the real docker-registry, and a network that does not always do what it should.

#include <csignal>
#include <filesystem>
#include <future>

#include "fixture.h"
#include "helpers/process.h"

namespace cove::image_tests {
namespace {

using testing_helpers::eventually;
using testing_helpers::Seconds;

constexpr std::size_t kCutAt = 3'000'000;

TEST_F(PullTest, AnImageOfSeveralLayersAndCompressions) {
  const std::string name = registry_->host() + "/a/b:1";
  const Ran ran = pull(name);
  ASSERT_EQ(ran.code, 0) << ran.text;
  EXPECT_NE(ran.text.find("4 layers"), std::string::npos) << ran.text;
  const auto image = store().find(name);
  ASSERT_TRUE(image && *image) << ran.text;
  EXPECT_EQ((*image)->layers.size(), 4U);
  EXPECT_EQ((*image)->config.cwd, "/data");
  EXPECT_EQ((*image)->config.user, "1000");
  EXPECT_EQ((*image)->config.env, (std::vector<std::string>{"PATH=/bin", "GREETING=hello"}));
  EXPECT_GT((*image)->size, 6'000'000U);
  EXPECT_TRUE(downloads().empty());
}

TEST_F(PullTest, AnotherPullOfTheSameIsOneRequestAndNoBlob) {
  const Proxy proxy(registry_->port());
  const std::string name = proxy.host() + "/a/b:1";
  ASSERT_EQ(pull(name).code, 0);
  EXPECT_EQ(proxy.count("GET", "/blobs/"), 5U);
  const_cast<Proxy&>(proxy).forget();
  const Ran again = pull(name);
  ASSERT_EQ(again.code, 0) << again.text;
  ASSERT_EQ(proxy.requests().size(), 1U);
  EXPECT_TRUE(proxy.requests()[0].starts_with("HEAD /v2/a/b/manifests/1 "));
  EXPECT_NE(again.text.find("up to date"), std::string::npos) << again.text;
}

TEST_F(PullTest, ByDigestTheSecondPullAsksNobody) {
  const Proxy proxy(registry_->port());
  ASSERT_EQ(pull(proxy.host() + "/a/b:1").code, 0);
  const auto image = store().find(proxy.host() + "/a/b:1");
  ASSERT_TRUE(image && *image);
  const std::string name = proxy.host() + "/a/b@" + (*image)->digest;
  const std::size_t blobs = proxy.count("GET", "/blobs/");
  ASSERT_EQ(pull(name).code, 0);
  EXPECT_EQ(proxy.count("GET", "/blobs/"), blobs + 1);  // the config, no layer
  const std::size_t requests = proxy.requests().size();
  ASSERT_EQ(pull(name).code, 0);
  EXPECT_EQ(proxy.requests().size(), requests);
}

TEST_F(PullTest, ALayerCorruptedOnTheWireIsRefusedAndNothingIsVisible) {
  Proxy proxy(registry_->port());
  proxy.flip_in("/blobs/" + blobs_[2]);
  const std::string name = proxy.host() + "/a/b:1";
  const Ran ran = pull(name);
  EXPECT_EQ(ran.code, 125);
  EXPECT_NE(ran.text.find("layer " + blobs_[2] + " is damaged"), std::string::npos) << ran.text;
  EXPECT_FALSE(has(name));
  for (const std::string& file : downloads()) EXPECT_NE(file, blobs_[2].substr(7) + ".part");
  proxy.flip_in("");
  EXPECT_EQ(pull(name).code, 0);
  EXPECT_TRUE(has(name));
}

TEST_F(PullTest, AManifestOrConfigCorruptedOnTheWireIsRefused) {
  for (const char* what : {"GET /v2/a/b/manifests/1", "/blobs/"}) {
    Proxy proxy(registry_->port());
    proxy.flip_in(what);
    const Ran ran = pull(proxy.host() + "/a/b:1");
    EXPECT_EQ(ran.code, 125);
    EXPECT_NE(ran.text.find("is damaged"), std::string::npos) << ran.text;
    EXPECT_FALSE(has(proxy.host() + "/a/b:1"));
  }
}

TEST_F(PullTest, TheRegistryKilledHalfWayThroughIsResumedFromThere) {
  RegistryServer registry(folder_ + "/registry", storage_);
  Proxy proxy(registry.port());
  std::promise<void> killed;
  proxy.cut_in("/blobs/" + blobs_[2], kCutAt, [&] {
    registry.kill();
    killed.set_value();
  });
  auto running = start({"pull", proxy.host() + "/a/b:1"});
  killed.get_future().wait();
  // The first retry finds nobody.
  ASSERT_TRUE(eventually([&] { return proxy.count("GET", "/blobs/" + blobs_[2]) >= 2; }));
  // It tries for some seconds only, and the registry may need longer.
  ASSERT_TRUE(running.child.signal(SIGSTOP));
  registry.start();
  ASSERT_TRUE(running.child.signal(SIGCONT));
  const Ran ran = finish(std::move(running));
  ASSERT_EQ(ran.code, 0) << ran.text;
  EXPECT_NE(ran.text.find("cut at 2.9 MiB"), std::string::npos) << ran.text;
  bool resumed = false;
  for (const std::string& request : proxy.requests()) {
    if (request.find(blobs_[2]) == std::string::npos) continue;
    resumed = request.find("Range: bytes=" + std::to_string(kCutAt) + "-") != std::string::npos;
  }
  EXPECT_TRUE(resumed) << "the last request for the layer asked for all of it";
  EXPECT_TRUE(has(proxy.host() + "/a/b:1"));
}

TEST_F(PullTest, APullKilledHalfWayThroughIsResumedByTheNext) {
  Proxy proxy(registry_->port());
  const std::string name = proxy.host() + "/a/b:1", part = blobs_[2].substr(7) + ".part";
  std::promise<void> half, dead;
  proxy.cut_in("/blobs/" + blobs_[2], kCutAt, [&] {
    half.set_value();
    dead.get_future().wait();
  });
  auto running = start({"pull", name});
  half.get_future().wait();
  const std::string path = home_ + "/images/downloads/" + part;
  std::error_code none;
  EXPECT_TRUE(eventually([&] { return std::filesystem::file_size(path, none) == kCutAt; }));
  ASSERT_TRUE(running.child.signal(SIGKILL));
  (void)running.child.wait(Deadline::never());
  dead.set_value();
  EXPECT_FALSE(has(name));
  const Ran again = pull(name);
  ASSERT_EQ(again.code, 0) << again.text;
  EXPECT_EQ(proxy.count("GET", "Range: bytes=" + std::to_string(kCutAt) + "-"), 1U) << again.text;
  EXPECT_TRUE(has(name));
  EXPECT_TRUE(downloads().empty());
}

TEST_F(PullTest, WhatACrashSpoiltInADownloadIsFetchedAgain) {
  const std::string name = registry_->host() + "/a/b:1";
  (void)store();
  write("cove/images/downloads/" + blobs_[2].substr(7) + ".part", std::string(100'000, '\0'));
  const Ran ran = pull(name);
  ASSERT_EQ(ran.code, 0) << ran.text;
  EXPECT_NE(ran.text.find("starting over"), std::string::npos) << ran.text;
}

TEST_F(PullTest, TwoAtOnceShareTheWork) {
  Proxy proxy(registry_->port());
  const std::string name = proxy.host() + "/a/b:1";
  std::promise<void> half, go;
  proxy.cut_in("/blobs/" + blobs_[2], kCutAt, [&] {
    half.set_value();
    go.get_future().wait();
  });
  auto first = start({"pull", name});
  half.get_future().wait();
  auto second = start({"pull", name});
  EXPECT_TRUE(second.says("another process is fetching it")) << second.heard;
  go.set_value();
  const Ran one = finish(std::move(first)), two = finish(std::move(second));
  EXPECT_EQ(one.code, 0) << one.text;
  EXPECT_EQ(two.code, 0) << two.text;
  for (const std::size_t layer : {0U, 1U, 3U}) EXPECT_EQ(proxy.count("GET", "/blobs/" + blobs_[layer]), 1U) << layer;
  EXPECT_EQ(proxy.count("GET", "/blobs/" + blobs_[2]), 2U);  // the first one, before and after the cut
}

TEST_F(PullTest, AnInterruptLeavesWhatHasComeAndNothingVisible) {
  Proxy proxy(registry_->port());
  const std::string name = proxy.host() + "/a/b:1";
  std::promise<void> half, go;
  proxy.cut_in("/blobs/" + blobs_[2], kCutAt, [&] {
    half.set_value();
    go.get_future().wait();
  });
  auto running = start({"pull", name});
  half.get_future().wait();
  ASSERT_TRUE(running.child.signal(SIGINT));
  const Ran ran = finish(std::move(running));
  go.set_value();
  EXPECT_EQ(ran.code, 130) << ran.text;
  EXPECT_NE(ran.text.find("interrupted"), std::string::npos) << ran.text;
  EXPECT_FALSE(has(name));
  EXPECT_FALSE(downloads().empty());
}

TEST_F(PullTest, WhatIsNotThereIsSaidSo) {
  const Ran tag = pull(registry_->host() + "/a/b:nope");
  EXPECT_EQ(tag.code, 125);
  EXPECT_NE(tag.text.find("has no image"), std::string::npos) << tag.text;
  const Ran nobody = pull("127.0.0.1:" + free_port() + "/a/b");
  EXPECT_EQ(nobody.code, 125);
  const Ran plain = pull("registry.invalid:5000/a");
  EXPECT_EQ(plain.code, 125);
}

TEST_F(PullTest, QuietSaysTheNameOnly) {
  const std::string name = registry_->host() + "/a/b:1";
  const Ran ran = finish(start({"pull", "--quiet", name}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.text, name + "\n");
}

TEST_F(PullTest, ATerminalGetsABarPerLayerAndItsCursorBack) {
  const Ran ran =
      shell("COVE_HOME=" + home_ + " TERM=xterm script -qec 'stty cols 70 rows 10; " COVE_TEST_IMAGE_PROGRAM " pull " +
            registry_->host() + "/a/b:1' /dev/null");
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_NE(ran.text.find("\x1b[?25l"), std::string::npos);
  EXPECT_GT(ran.text.rfind("\x1b[?25h"), ran.text.rfind("\x1b[?25l"));
  for (const std::string& blob : blobs_) EXPECT_NE(ran.text.find(blob.substr(7, 12) + "  done"), std::string::npos);
}

}  // namespace
}  // namespace cove::image_tests
