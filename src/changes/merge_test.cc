#include "changes/merge.h"

#include <sys/stat.h>

#include "changes/test_trees.h"

namespace cove::changes {
namespace {

constexpr int kCases = 300;

class MergeLayers : public Trees {};

TEST_F(MergeLayers, ShowTheSameAsTheKernelsOverlayForRandomLayers) {
  COVE_NEEDS_OVERLAY();
  RandomLayers random(1);
  const std::string base = fresh("base"), above = fresh("above");
  random.fill_cases(base, kCases, false);
  random.fill_cases(above, kCases, true);
  std::vector<std::string> layers;
  for (int i = 0; i < 4; ++i) {
    layers.push_back(fresh("layer"));
    random.fill_cases(layers.back(), kCases, true);
  }
  const std::string one = base_ + "/merged";
  const auto done = merge_layers(layers, one);
  ASSERT_TRUE(done) << done.error().text();
  const auto with = [&](std::vector<std::string> first, const std::vector<std::string>& then) {
    first.insert(first.end(), then.begin(), then.end());
    return first;
  };
  // On something, on nothing, and below another layer.
  const auto want = kernel_views({with(layers, {base}), layers, with({above}, with(layers, {base}))});
  const auto got = kernel_views({{one, base}, {one}, {above, one, base}});
  EXPECT_GT(want[0].size(), 1000U);
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
}

TEST_F(MergeLayers, ADirectoryOverAWhiteoutHidesWhatTheWhiteoutHid) {
  write_text(base_ + "/one/d/new", "new");
  whiteout(base_ + "/two/d");
  ASSERT_TRUE(merge_layers({base_ + "/one", base_ + "/two"}, base_ + "/merged"));
  char mark = 0;
  EXPECT_EQ(getxattr((base_ + "/merged/d").c_str(), "user.overlay.opaque", &mark, 1), 1);
  EXPECT_EQ(mark, 'y');
}

TEST_F(MergeLayers, FilesAreLinkedAndDirectoriesKeepWhatTheyHave) {
  write_text(base_ + "/one/d/f", "text");
  ASSERT_EQ(setxattr((base_ + "/one/d").c_str(), "user.note", "kept", 4, 0), 0);
  ASSERT_EQ(chmod((base_ + "/one/d").c_str(), 01750), 0);
  const timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 5}, {.tv_sec = 2000, .tv_nsec = 7}};
  ASSERT_EQ(utimensat(AT_FDCWD, (base_ + "/one/d").c_str(), times, 0), 0);
  fs::create_directory(base_ + "/two");
  ASSERT_TRUE(merge_layers({base_ + "/one", base_ + "/two"}, base_ + "/merged"));
  struct stat from{}, to{};
  ASSERT_EQ(stat((base_ + "/one/d/f").c_str(), &from), 0);
  ASSERT_EQ(stat((base_ + "/merged/d/f").c_str(), &to), 0);
  EXPECT_EQ(from.st_ino, to.st_ino);
  ASSERT_EQ(stat((base_ + "/merged/d").c_str(), &to), 0);
  EXPECT_EQ(to.st_mode & 07777U, 01750U);
  EXPECT_EQ(to.st_mtim.tv_sec, 2000);
  EXPECT_EQ(to.st_mtim.tv_nsec, 7);
  char note[8]{};
  EXPECT_EQ(getxattr((base_ + "/merged/d").c_str(), "user.note", note, sizeof(note)), 4);
}

TEST_F(MergeLayers, IntoSomethingThatIsThereIsRefused) {
  const auto done = merge_layers({lower_, upper_}, host_);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::conflict);
  fs::create_symlink("nowhere", base_ + "/link");
  EXPECT_FALSE(merge_layers({lower_, upper_}, base_ + "/link"));
}

TEST_F(MergeLayers, AFailureLeavesNothing) {
  write_text(lower_ + "/a", "a");
  std::string other = base_.starts_with("/dev/shm") ? "/tmp/cove-merge-XXXXXX" : "/dev/shm/cove-merge-XXXXXX";
  ASSERT_NE(mkdtemp(other.data()), nullptr);
  struct stat here{}, there{};
  ASSERT_EQ(stat(base_.c_str(), &here), 0);
  ASSERT_EQ(stat(other.c_str(), &there), 0);
  if (here.st_dev != there.st_dev) {
    EXPECT_FALSE(merge_layers({lower_}, other + "/into"));
    EXPECT_TRUE(fs::is_empty(other));
  }
  fs::remove_all(other);
  if (here.st_dev == there.st_dev) GTEST_SKIP() << "there is no other file system";
}

TEST_F(MergeLayers, ALayerThatIsALinkIntoAnotherDirectoryLeadsNowhere) {
  fs::create_directory(base_ + "/outside");
  write_text(base_ + "/outside/secret", "secret");
  fs::create_directory_symlink(base_ + "/outside", upper_ + "/d");
  write_text(lower_ + "/d/f", "f");
  ASSERT_TRUE(merge_layers({upper_, lower_}, base_ + "/merged"));
  EXPECT_TRUE(fs::is_symlink(base_ + "/merged/d"));
  EXPECT_EQ(fs::hard_link_count(base_ + "/outside/secret"), 1U);
}

}  // namespace
}  // namespace cove::changes
