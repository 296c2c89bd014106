#include "backend/native/layers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "image/store.h"

namespace cove::native {
namespace {

namespace fs = std::filesystem;

class NativeLayers : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/cove-layers-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    home_ = path;
    fs::create_directories(home_ + "/sandboxes/s");
    fs::create_directories(home_ + "/image");
    spec_.name = "s";
    spec_.backend = "native";
    spec_.directory = home_ + "/sandboxes/s";
    spec_.image = home_ + "/image";
    const auto made = make_layers(spec_, users_);
    ASSERT_TRUE(made) << made.error().text();
    layers_ = *made;
  }
  void TearDown() override { fs::remove_all(home_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(own() + "/" + name) << text; }
  std::string own() const { return spec_.directory + "/fs/root"; }
  // Paths below COVE_HOME without the image, in order.
  std::string disk() const {
    std::set<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(home_)) {
      const std::string path = entry.path().lexically_relative(home_);
      if (!path.starts_with("image") && path != "sandboxes" && path != "sandboxes/s") all.insert(path);
    }
    std::string text;
    for (const std::string& path : all) text += path + "\n";
    return text;
  }
  void seal_and_keep(const std::string& id) {
    auto sealed = LayerChange::seal(spec_, users_, layers_, id);
    ASSERT_TRUE(sealed) << sealed.error().text();
    layers_ = sealed->layers();
    sealed->keep();
    spec_.layers.push_back(id);
  }

  std::string home_;
  SandboxSpec spec_;
  os::Users users_ = os::find_users();
  std::vector<Layer> layers_;
};

TEST_F(NativeLayers, WithoutChangesThereIsNothingToSeal) {
  const std::string before = disk();
  const auto sealed = LayerChange::seal(spec_, users_, layers_, "l1");
  ASSERT_TRUE(sealed);
  EXPECT_TRUE(sealed->changed().empty());
  EXPECT_EQ(disk(), before);
}

TEST_F(NativeLayers, ASealedLayerIsTheTopmostLowerOne) {
  write("f", "1");
  seal_and_keep("l1");
  write("f", "2");
  seal_and_keep("l2");
  EXPECT_EQ(layers_[0].lowers,
            (std::vector<std::string>{home_ + "/layers/l2/root", home_ + "/layers/l1/root", home_ + "/image"}));
  EXPECT_TRUE(fs::is_empty(own()));
  EXPECT_EQ(disk(),
            "layers\nlayers/l1\nlayers/l1/root\nlayers/l1/root/f\nlayers/l2\nlayers/l2/root\nlayers/l2/root/f\n"
            "sandboxes/s/fs\nsandboxes/s/fs/root\nsandboxes/s/fs/root.work\n");
}

TEST_F(NativeLayers, ASealThatIsNotKeptIsTakenBack) {
  write("f", "1");
  const std::string before = disk();
  {
    const auto sealed = LayerChange::seal(spec_, users_, layers_, "l1");
    ASSERT_TRUE(sealed) << sealed.error().text();
    EXPECT_NE(disk(), before);
  }
  EXPECT_EQ(disk(), "layers\n" + before);
}

TEST_F(NativeLayers, ASealThatFailsHalfWayIsTakenBack) {
  write("f", "1");
  fs::create_directories(own() + ".work.old/in/the/way");
  const std::string before = disk();
  EXPECT_FALSE(LayerChange::seal(spec_, users_, layers_, "l1"));
  EXPECT_EQ(disk(), "layers\n" + before);
}

TEST_F(NativeLayers, ARewindPutsChangesAsideAndCanBeTakenBack) {
  write("f", "1");
  seal_and_keep("l1");
  write("f", "2");
  const std::string before = disk();
  SandboxSpec back = spec_;
  back.layers.clear();
  {
    const auto rewound = LayerChange::rewind(back, users_);
    ASSERT_TRUE(rewound) << rewound.error().text();
    EXPECT_EQ(rewound->layers()[0].lowers, std::vector<std::string>{home_ + "/image"});
    EXPECT_TRUE(fs::is_empty(own()));
  }
  EXPECT_EQ(disk(), before);
  auto rewound = LayerChange::rewind(back, users_);
  ASSERT_TRUE(rewound);
  rewound->keep();
  EXPECT_TRUE(fs::is_empty(own()));
  EXPECT_FALSE(fs::exists(own() + ".old"));
  EXPECT_TRUE(fs::exists(home_ + "/layers/l1")) << "it may be somebody else's";
}

TEST_F(NativeLayers, AllMissingBlocksAreMergedWhoeverWasKilledOverThem) {
  for (int i = 0; i < 40; ++i) {
    write("f" + std::to_string(i), std::to_string(i));
    seal_and_keep("l" + std::to_string(i));
  }
  fs::create_directories(home_ + "/layers/l15.16.new-1/root");  // of one who was killed
  ASSERT_TRUE(merge_sealed(spec_));
  const auto found = find_layers(spec_, users_);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->at(0).lowers.size(), 2U + 8U + 1U);
  EXPECT_EQ(found->at(0).lowers.at(8), home_ + "/layers/l31.16/root");
  EXPECT_EQ(std::distance(fs::directory_iterator(home_ + "/layers/l31.16/root"), fs::directory_iterator()), 16);
  ASSERT_TRUE(merge_sealed(spec_)) << "again is fine";
  SandboxSpec shorter = spec_;
  shorter.layers.resize(30);
  EXPECT_EQ(find_layers(shorter, users_)->at(0).lowers.size(), 1U + 14U + 1U);
  EXPECT_EQ(find_layers(spec_, users_, Blocks::single)->at(0).lowers.size(), 41U);
}

TEST_F(NativeLayers, AChainOfThousandsIsShownAsAFewDozen) {
  for (int i = 0; i < 8191; ++i) spec_.layers.push_back("l" + std::to_string(i));
  for (int end = 256; end <= 4096; end += 256) {
    const std::string block = home_ + "/layers/l" + std::to_string(end - 1) + ".256/root";
    fs::create_directories(block);
    std::ofstream(block + "/f" + std::to_string(end)) << end;
  }
  ASSERT_TRUE(merge_sealed(spec_));
  EXPECT_EQ(std::distance(fs::directory_iterator(home_ + "/layers/l4095.4096/root"), fs::directory_iterator()), 16);
  for (const auto& entry : fs::directory_iterator(home_ + "/layers")) fs::create_directory(entry.path() / "root");
  for (int i = 8176; i < 8191; ++i) fs::create_directories(home_ + "/layers/l" + std::to_string(i) + "/root");
  const auto found = find_layers(spec_, users_);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->at(0).lowers.size(), 1U + 15U + 15U + 15U + 1U);
  EXPECT_LE(found->at(0).lowers.size() - 1 + image::kMostLowers, kMostLowers) << "above the largest image";
}

TEST_F(NativeLayers, MoreLayersThanCanBeMountedAreAnErrorThatSaysSo) {
  for (std::size_t i = 0; i < kMostLowers; ++i) {
    spec_.layers.push_back("l" + std::to_string(i));
    fs::create_directories(home_ + "/layers/" + spec_.layers.back() + "/root");
  }
  const auto found = find_layers(spec_, users_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::busy);
  EXPECT_TRUE(make_layers(spec_, users_)) << "a start merges them first";
}

}  // namespace
}  // namespace cove::native
