#include "changes/view.h"

#include "changes/test_trees.h"

namespace cove::changes {
namespace {

class ViewOfLayers : public Trees {
 protected:
  // As tree_of, by our own rules.
  static Tree ours(const View& view) {
    Tree tree;
    std::vector<std::string> work{""};
    while (!work.empty()) {
      const std::string at = work.back();
      work.pop_back();
      const auto entries = list(view, at);
      EXPECT_TRUE(entries) << entries.error().text();
      for (const auto& [name, entry] : *entries) {
        const std::string path = (at.empty() ? "" : at + "/") + name;
        const std::string real = view.layers[entry.layers.front()] + "/" + path;
        std::string text = std::to_string(entry.info.st_mode) + " " + std::to_string(entry.info.st_uid);
        if (entry.kind() == Kind::file) text += " " + read_text(real);
        if (entry.kind() == Kind::symlink) text += " " + fs::read_symlink(real).string();
        if (entry.kind() == Kind::directory) work.push_back(path);
        tree[path] = text;
      }
    }
    return tree;
  }
};

TEST_F(ViewOfLayers, IsTheKernelsForRandomLayers) {
  COVE_NEEDS_OVERLAY();
  RandomLayers random(2);
  std::vector<std::string> layers;
  for (int i = 0; i < 4; ++i) {
    layers.push_back(fresh("layer"));
    random.fill_cases(layers.back(), 100, true);
  }
  opaque(layers[1]);  // on a root it means nothing
  expect_same(ours({.layers = layers}), kernel_views({layers})[0]);
}

TEST_F(ViewOfLayers, LookupSaysWhichLayerHasIt) {
  write_text(lower_ + "/d/f", "low");
  write_text(lower_ + "/d/g", "low");
  write_text(upper_ + "/d/f", "up");
  const View view{.layers = {upper_, lower_}};
  EXPECT_EQ((*lookup(view, "d/f"))->layers, std::vector<LayerNumber>{0});
  EXPECT_EQ((*lookup(view, "d/g"))->layers, std::vector<LayerNumber>{1});
  EXPECT_EQ((*lookup(view, "d"))->layers, (std::vector<LayerNumber>{0, 1}));
  EXPECT_FALSE(lookup(view, "d/f/x")->has_value());
  EXPECT_FALSE(lookup(view, "no/such")->has_value());
}

TEST_F(ViewOfLayers, ALinkIsNeverFollowed) {
  write_text(base_ + "/outside/secret", "secret");
  fs::create_directory_symlink(base_ + "/outside", upper_ + "/d");
  const View view{.layers = {upper_}};
  EXPECT_FALSE(lookup(view, "d/secret")->has_value());
  EXPECT_FALSE(list(view, "d"));
}

TEST_F(ViewOfLayers, TheOtherValueOfTheMarkHidesNothing) {
  write_text(lower_ + "/d/f", "low");
  fs::create_directory(upper_ + "/d");
  ASSERT_EQ(setxattr((upper_ + "/d").c_str(), "user.overlay.opaque", "x", 1, 0), 0);
  EXPECT_TRUE(lookup({.layers = {upper_, lower_}}, "d/f")->has_value());
}

}  // namespace
}  // namespace cove::changes
