#include <nlohmann/json.hpp>

#include "changes/test_trees.h"
#include "changes/text.h"

namespace cove::changes {
namespace {

class Patch : public Trees {
 protected:
  States states() const { return {.lower = {.layers = {lower_}}, .uppers = {upper_}}; }
  std::vector<Change> changes() {
    auto found = compare({.layers = {lower_}}, {upper_});
    EXPECT_TRUE(found) << found.error().text();
    return found ? *found : std::vector<Change>{};
  }
  std::string patch(const TextLimits& limits = {}) {
    std::string text;
    const auto sink = [&](std::string_view part) {
      text += part;
      return Result<void>{};
    };
    EXPECT_TRUE(write_patch(states(), changes(), sink, limits));
    return text;
  }
  static bool has(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
  }

  // lower_ with the patch applied by a program must be what the view of both is.
  void expect_applied_by(const std::string& program) {
    if (!has(program.substr(0, program.find(' ')))) GTEST_SKIP() << program << " is not installed";
    const std::string work = fresh("patched"), file = base_ + "/changes.patch";
    ASSERT_EQ(std::system(("cp -a " + lower_ + "/. " + work).c_str()), 0);
    write_text(file, patch());
    ASSERT_EQ(std::system(("cd " + work + " && " + program + " < " + file + " > " + base_ + "/log 2>&1").c_str()), 0)
        << read_text(base_ + "/log") << patch();
    const auto want = kernel_views({{upper_, lower_}});
    EXPECT_EQ(tree_without_directories(work), without_directories(want[0])) << patch();
  }
  static Tree without_directories(Tree tree) {
    std::erase_if(tree, [](const auto& entry) { return entry.second.starts_with("16"); });
    return tree;
  }
  static Tree tree_without_directories(const std::string& root) { return without_directories(tree_of(root)); }

  void make_changes() {
    std::string long_text;
    for (int i = 0; i < 200; ++i) long_text += "line " + std::to_string(i % 40) + "\n";
    write_text(lower_ + "/long", long_text);
    write_text(upper_ + "/long", "first\n" + long_text.substr(0, 300) + "middle\n" + long_text.substr(500) + "last");
    write_text(lower_ + "/gone", "going\n");
    whiteout(upper_ + "/gone");
    write_text(upper_ + "/new/deep/file", "new\n");
    write_text(upper_ + "/script", "#!/bin/sh\n", 0755);
    write_text(lower_ + "/mode", "same\n");
    write_text(upper_ + "/mode", "same\n", 0755);
    write_text(upper_ + "/empty", "");
    write_text(lower_ + "/emptied", "text\n");
    write_text(upper_ + "/emptied", "");
    write_text(lower_ + "/with space", "one\n");
    write_text(upper_ + "/with space", "two\n");
    write_text(upper_ + "/new with space", "two\n");
    write_text(upper_ + "/tab\tquote\"back\\slash", "x\n");
    write_text(upper_ + "/\xc3\xa4", "umlaut\n");
    write_text(upper_ + "/dashes", "--- a/long\n+++ b/long\n@@ -1 +1 @@\n");
  }
};

TEST_F(Patch, IsAcceptedByGitApply) {
  COVE_NEEDS_OVERLAY();
  make_changes();
  write_text(lower_ + "/was/a/dir", "text\n");
  write_text(upper_ + "/was", "now a file\n");
  write_text(lower_ + "/file", "a file\n");
  write_text(upper_ + "/file/below", "now a directory\n");
  fs::create_symlink("long", lower_ + "/link");
  fs::create_symlink("mode", upper_ + "/link");
  fs::create_symlink("new", upper_ + "/new link");
  write_text(upper_ + "/line\nfeed", "x\n");
  write_text(lower_ + "/kind", "file\n");
  fs::create_symlink("target", upper_ + "/kind");
  expect_applied_by("git apply -p1 --unsafe-paths");
}

TEST_F(Patch, IsAcceptedByPatch) {
  COVE_NEEDS_OVERLAY();
  make_changes();
  expect_applied_by("patch -p1");
}

TEST_F(Patch, WithRandomTextsIsAcceptedByBoth) {
  COVE_NEEDS_OVERLAY();
  std::mt19937 random(5);
  const auto text = [&] {
    std::string all;
    for (unsigned i = random() % 60; i > 0; --i) all += "line " + std::to_string(random() % 6) + "\n";
    if (!all.empty() && random() % 3 == 0) all.pop_back();
    return all;
  };
  for (int i = 0; i < 60; ++i) {
    write_text(lower_ + "/" + std::to_string(i), text());
    write_text(upper_ + "/" + std::to_string(i), text());
  }
  expect_applied_by("git apply -p1 --unsafe-paths");
  expect_applied_by("patch -p1");
}

TEST_F(Patch, BinaryAndLargeFilesAreNamedAndTheRestStillApplies) {
  write_text(upper_ + "/binary", std::string("a\0b", 3));
  write_text(upper_ + "/large", std::string(5000, 'x'));
  write_text(upper_ + "/text", "text\n");
  const std::string text = patch({.most_file_bytes = 4000});
  EXPECT_NE(text.find("Binary files /dev/null and b/binary differ (0 and 3 bytes)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Large files /dev/null and b/large differ (0 and 5000 bytes)\n"), std::string::npos) << text;
  write_text(base_ + "/changes.patch", text);
  const std::string work = fresh("patched");
  ASSERT_EQ(std::system(("cd " + work + " && patch -sp1 < ../changes.patch").c_str()), 0);
  EXPECT_EQ(read_text(work + "/text"), "text\n");
  const std::string other = fresh("patched");
  ASSERT_EQ(std::system(("cd " + other + " && git apply --unsafe-paths ../changes.patch").c_str()), 0);
  EXPECT_EQ(read_text(other + "/text"), "text\n");
}

TEST_F(Patch, StatIsAsGitsOwn) {
  write_text(lower_ + "/some/file", "1\n2\n3\n");
  write_text(upper_ + "/some/file", "1\n2\nthree\nfour\n");
  write_text(upper_ + "/b", std::string("\0", 1));
  auto all = changes();
  ASSERT_TRUE(count_lines(states(), all));
  EXPECT_EQ(stat_text(all),
            " b         | Bin 0 -> 1 bytes\n"
            " some/file | 3 ++-\n"
            " 2 files changed, 2 insertions(+), 1 deletion(-)\n");
}

TEST_F(Patch, StatKeepsToItsWidth) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + "\n";
  write_text(upper_ + "/many", text);
  write_text(upper_ + "/one", "1\n");
  auto all = changes();
  ASSERT_TRUE(count_lines(states(), all));
  std::istringstream lines(stat_text(all));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_NE(stat_text(all).find(" one  |    1 +\n"), std::string::npos) << stat_text(all);
}

TEST_F(Patch, AModeThatGitDoesNotKnowIsNamed) {
  write_text(lower_ + "/f", "x\n", 0644);
  write_text(upper_ + "/f", "x\n", 0600);
  EXPECT_EQ(patch(), "Mode of f was 0644 and is 0600\n");
}

TEST_F(Patch, ANameCannotForgeALine) {
  write_text(upper_ + "/x\n+++ b/etc\x1b[2J", "x\n");
  for (const std::string text = patch(); const char bad : {'\x1b'}) EXPECT_EQ(text.find(bad), std::string::npos);
  EXPECT_EQ(patch().find("\n+++ b/etc"), std::string::npos);
}

}  // namespace
}  // namespace cove::changes
