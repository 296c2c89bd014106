#include "os/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace cove::os {
namespace {

namespace fs = std::filesystem;

class RemoveTree : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/cove-remove-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    base_ = path;
    tree_ = base_ + "/tree";
    ASSERT_EQ(mkdir(tree_.c_str(), 0700), 0);
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(base_, ignored);
  }
  void expect_gone() {
    const auto removed = remove_tree(tree_);
    EXPECT_TRUE(removed) << removed.error().message;
    EXPECT_FALSE(fs::exists(tree_));
  }
  std::string base_, tree_;
};

TEST_F(RemoveTree, OneThatIsNotThereIsFine) {
  EXPECT_TRUE(remove_tree(tree_ + "/nothing"));
  expect_gone();
}

TEST_F(RemoveTree, NeverGoesThroughASymlink) {
  std::ofstream(base_ + "/kept") << "kept";
  fs::create_directory(base_ + "/outside");
  std::ofstream(base_ + "/outside/kept") << "kept";
  fs::create_symlink(base_ + "/outside", tree_ + "/link");
  fs::create_symlink("/nonexistent", tree_ + "/dangling");
  expect_gone();
  EXPECT_TRUE(fs::exists(base_ + "/outside/kept"));
  fs::create_symlink(base_ + "/outside", tree_);
  EXPECT_TRUE(remove_tree(tree_));
  EXPECT_FALSE(fs::is_symlink(tree_));
  EXPECT_TRUE(fs::exists(base_ + "/outside/kept"));
}

TEST_F(RemoveTree, AnyDepth) {
  UniqueFd at(open(tree_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 1500; ++depth) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0700), 0);
    at.reset(openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at);
  }
  at.reset();
  expect_gone();
}

TEST_F(RemoveTree, NamesThatAreInTheWay) {
  fs::create_directories(tree_ + "/a/b/c");
  std::ofstream(tree_ + "/.gone-0") << "x";
  fs::create_directories(tree_ + "/.gone-1/x");
  expect_gone();
}

TEST_F(RemoveTree, DirectoriesThatCannotBeRead) {
  fs::create_directories(tree_ + "/shut/inner/deep");
  for (const char* name : {"/shut/inner/deep", "/shut/inner", "/shut", ""}) {
    ASSERT_EQ(chmod((tree_ + name).c_str(), 0), 0);
  }
  // Root would not notice.
  if (geteuid() == 0) {
    fs::permissions(base_, fs::perms::all);
    for (const char* name : {"", "/shut", "/shut/inner", "/shut/inner/deep"}) {
      ASSERT_EQ(chown((tree_ + name).c_str(), 65534, 65534), 0);
    }
    ASSERT_EQ(seteuid(65534), 0);
  }
  const auto removed = remove_tree(tree_);
  ASSERT_EQ(seteuid(getuid()), 0);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(tree_));
}

}  // namespace
}  // namespace cove::os
