#include "client/extract.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "client/settle.h"
#include "client/tar_source.h"

namespace cove {
namespace {

namespace fs = std::filesystem;

class Hostile : public testing::Test {
 protected:
  Hostile() {
    std::string form = testing::TempDir() + "cove-extract-XXXXXX";
    base_ = mkdtemp(form.data());
    fs::create_directory(base_ + "/root");
    fs::create_directory(base_ + "/outside");
    extractor_.emplace(UniqueFd(open((base_ + "/root").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  }
  ~Hostile() override { fs::remove_all(base_); }

  Result<void> file(const std::string& path, mode_t mode = 0644) {
    Extractor::Entry entry{.path = path, .mode = S_IFREG | mode, .mtime = {}, .link = {}, .hard_link = false};
    COVE_TRY(const UniqueFd fd, extractor_->add(entry));
    return extractor_->finish_file(fd.get(), entry);
  }
  Result<UniqueFd> link(const std::string& path, const std::string& target, mode_t type) {
    return extractor_->add({.path = path, .mode = type, .mtime = {}, .link = target, .hard_link = type == 0});
  }
  bool outside_is_untouched() const { return fs::is_empty(base_ + "/outside"); }

  std::string base_;
  std::optional<Extractor> extractor_;
};

TEST_F(Hostile, PathsThatLeaveAreRefused) {
  for (const char* path : {"", "/etc/x", "../x", "a/../../x", "..", "a/..", "./../x"}) {
    EXPECT_FALSE(file(path)) << path;
  }
  EXPECT_FALSE(file(std::string(5000, 'a')));
}

TEST_F(Hostile, ASymlinkedDirectoryIsNotEntered) {
  ASSERT_TRUE(link("l", base_ + "/outside", S_IFLNK));
  EXPECT_FALSE(file("l/x"));
  EXPECT_TRUE(outside_is_untouched());
}

TEST_F(Hostile, ASymlinkInPlaceOfAFileIsNotWrittenThrough) {
  ASSERT_TRUE(link("f", base_ + "/outside/f", S_IFLNK));
  EXPECT_FALSE(file("f"));
  EXPECT_TRUE(outside_is_untouched());
}

TEST_F(Hostile, ADirectoryThatBecameASymlinkIsNotChanged) {
  ASSERT_TRUE(link("d", base_ + "/outside", S_IFLNK));
  const auto before = fs::status(base_ + "/outside").permissions();
  ASSERT_TRUE(extractor_->add({.path = "d", .mode = S_IFDIR | 0111, .mtime = {}, .link = {}, .hard_link = false}));
  EXPECT_FALSE(extractor_->finish());
  EXPECT_EQ(fs::status(base_ + "/outside").permissions(), before);
}

TEST_F(Hostile, HardLinksReachOnlyWhatTheArchiveBrought) {
  std::ofstream(base_ + "/outside/secret") << "s";
  EXPECT_FALSE(link("h", base_ + "/outside/secret", 0));
  EXPECT_FALSE(link("h", "../outside/secret", 0));
  ASSERT_TRUE(link("l", base_ + "/outside", S_IFLNK));
  EXPECT_FALSE(link("h", "l/secret", 0));
  ASSERT_TRUE(file("mine"));
  EXPECT_TRUE(link("h", "mine", 0));
}

TEST_F(Hostile, DevicesAreUnsupported) {
  const auto made =
      extractor_->add({.path = "dev", .mode = S_IFCHR | 0666, .mtime = {}, .link = {}, .hard_link = false});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::unsupported);
}

TEST_F(Hostile, SetuidBitsAreDropped) {
  ASSERT_TRUE(file("s", 06755));
  EXPECT_EQ(static_cast<unsigned>(fs::status(base_ + "/root/s").permissions()), 0755U);
}

TEST_F(Hostile, ReadOnlyDirectoriesAreFilledBeforeTheyAreClosed) {
  ASSERT_TRUE(extractor_->add({.path = "d", .mode = S_IFDIR | 0555, .mtime = {}, .link = {}, .hard_link = false}));
  EXPECT_TRUE(file("d/x"));
  EXPECT_TRUE(extractor_->finish());
  EXPECT_EQ(static_cast<unsigned>(fs::status(base_ + "/root/d").permissions()), 0555U);
}

TEST_F(Hostile, SettlingMergesDirectoriesAndReplacesFiles) {
  fs::create_directories(base_ + "/new/sub");
  fs::create_directories(base_ + "/old/sub");
  std::ofstream(base_ + "/new/sub/a") << "new";
  std::ofstream(base_ + "/old/sub/a") << "old";
  std::ofstream(base_ + "/old/sub/kept") << "kept";
  ASSERT_TRUE(settle(base_ + "/new", base_ + "/old"));
  EXPECT_EQ(fs::file_size(base_ + "/old/sub/kept"), 4U);
  std::string text;
  std::ifstream(base_ + "/old/sub/a") >> text;
  EXPECT_EQ(text, "new");
}

TEST_F(Hostile, SettlingDoesNotReplaceADirectoryByAFile) {
  std::ofstream(base_ + "/f") << "x";
  EXPECT_FALSE(settle(base_ + "/f", base_ + "/outside"));
  EXPECT_TRUE(fs::is_directory(base_ + "/outside"));
}

TEST_F(Hostile, ScratchLeavesNothing) {
  std::string path;
  {
    const Scratch scratch = Scratch::beside(base_ + "/target").value();
    path = scratch.path();
    fs::create_directories(path + "/closed/in");
    fs::permissions(path + "/closed", fs::perms::none);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Hostile, ATarSourceNamesWhatItSkips) {
  ASSERT_EQ(mkfifo((base_ + "/root/pipe").c_str(), 0600), 0);
  TarSource source = TarSource::open(base_ + "/root", "as").value();
  std::string tar;
  char piece[4096];
  for (std::size_t n = source.pull(piece).value(); n > 0; n = source.pull(piece).value()) tar.append(piece, n);
  EXPECT_TRUE(tar.starts_with("as/") || tar.find("as") != std::string::npos);
  EXPECT_EQ(tar.size() % 512, 0U);
  EXPECT_EQ(source.take_skipped().size(), 1U);
}

}  // namespace
}  // namespace cove
