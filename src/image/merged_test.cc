// Images of more layers than an overlay is given.

#include "changes/test_trees.h"
#include "image/store.h"
#include "image/test_tar.h"

namespace cove::image {
namespace {

namespace fs = std::filesystem;
using changes::Tree;

class MergedLayers : public changes::Trees {
 protected:
  void SetUp() override {
    Trees::SetUp();
    auto opened = Store::open(base_);
    ASSERT_TRUE(opened) << opened.error().text();
    store_.emplace(std::move(*opened));
    before_ = fs::current_path();
    fs::current_path(base_);
  }
  void TearDown() override {
    fs::current_path(before_);
    Trees::TearDown();
  }

  std::string add(const TarText& tar) {
    TarText whole = tar;
    const auto layer = image::add(*store_, whole.end());
    EXPECT_TRUE(layer) << layer.error().text();
    return layer ? layer->diff_id : "";
  }
  // The options of a mount are a page: so by names that are short.
  std::vector<std::string> shortened(const std::vector<std::string>& paths) {
    std::vector<std::string> names;
    for (const std::string& path : paths) {
      names.push_back("s" + std::to_string(links_++));
      fs::create_symlink(path, base_ + "/" + names.back());
    }
    return names;
  }
  std::vector<std::string> each(const std::vector<std::string>& ids) {
    std::vector<std::string> paths;
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) paths.push_back(store_->layer_path(*id));
    return paths;
  }

  std::optional<Store> store_;

 private:
  fs::path before_;
  int links_ = 0;
};

// Every layer adds a file, changes one that all have, removes one of an earlier layer; some hide a whole directory, or
// put a file in the place of a directory.
std::vector<TarText> many_layers(int count) {
  std::vector<TarText> layers;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    TarText tar;
    tar.file("own/" + n, "of " + n).file("all", "as " + n + " has it");
    if (i % 25 == 24)
      tar.file(".wh.d", "");
    else
      tar.file("d/" + std::to_string(i % 7) + "/f" + n, n);
    if (i % 3 == 2) tar.file("own/.wh." + std::to_string(i - 2), "");
    if (i % 20 == 18) tar.file("d/" + std::to_string(i % 7) + "/.wh..wh..opq", "");
    if (i % 31 == 30) tar.file("own/" + std::to_string(i - 1), "again").symlink("link" + n, "all");
    layers.push_back(tar);
  }
  return layers;
}

TEST_F(MergedLayers, OneHundredAndFiftyShowWhatTheKernelShowsOfEach) {
  COVE_NEEDS_OVERLAY();
  std::vector<std::string> ids;
  for (const TarText& tar : many_layers(150)) ids.push_back(add(tar));
  const auto lowers = store_->lowers(ids);
  ASSERT_TRUE(lowers) << lowers.error().text();
  EXPECT_EQ(lowers->size(), kMostLowers);
  const std::vector<Tree> views = kernel_views({shortened(each(ids)), shortened(*lowers)});
  EXPECT_GT(views[0].size(), 100U);
  EXPECT_TRUE(views[0].contains("own/149"));
  EXPECT_FALSE(views[0].contains("own/0"));
  changes::expect_same(views[1], views[0]);
}

TEST_F(MergedLayers, AreMergedOnceAndPrunedWithTheirLayers) {
  std::vector<std::string> ids;
  for (const TarText& tar : many_layers(70)) ids.push_back(add(tar));
  const auto lowers = store_->lowers(ids), again = store_->lowers(ids);
  ASSERT_TRUE(lowers) << lowers.error().text();
  EXPECT_EQ(*again, *lowers);
  struct stat info{};
  ASSERT_EQ(stat((lowers->back() + "/own/1").c_str(), &info), 0);
  EXPECT_GT(info.st_nlink, 1U);  // no second copy of any file
  ASSERT_TRUE(store_->prune({ids.begin(), ids.end()}));
  EXPECT_TRUE(fs::exists(lowers->back()));
  ASSERT_TRUE(store_->prune({ids.begin() + 1, ids.end()}));
  EXPECT_FALSE(fs::exists(lowers->back()));
}

}  // namespace
}  // namespace cove::image
