#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "image/digest.h"
#include "image/layer_tree.h"
#include "image/layer_writer.h"
#include "image/test_tar.h"

namespace cove::image {
namespace {

class LayerReader : public testing::Test {
 protected:
  // The tree of the layer, unpacked.
  std::string unpack(const std::string& bytes) {
    auto layer = add(store_, bytes);
    EXPECT_TRUE(layer) << layer.error().text();
    return layer ? store_.layer_path(layer->diff_id) : "/nowhere";
  }
  static struct stat info(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
    return found;
  }
  static bool is_opaque(const std::string& path) {
    char value = 0;
    return getxattr(path.c_str(), kOpaque, &value, 1) == 1 && value == 'y';
  }
  static bool is_whiteout(const std::string& path) {
    const struct stat found = info(path);
    return S_ISCHR(found.st_mode) && found.st_rdev == makedev(0, 0);
  }

  TestHome home_;
  Store store_ = *Store::open(home_.home());
};

std::string some_tar() {
  return TarText()
      .directory("./", 0750)
      .directory("bin/", 02755)
      .add({.name = "bin/su", .content = std::string(300'000, 'x'), .mode = 04755, .uid = 7, .gid = 8})
      .hardlink("bin/su2", "bin/su")
      .symlink("bin/sh", "/etc/../su")
      .add({.name = "pipe", .type = '6', .mode = 0620})
      .file("deep/er/file", "text")
      .directory("locked/", 0500)
      .file("locked/inside", "in")
      .end();
}

TEST_F(LayerReader, FilesLinksModesAndTimesAreKept) {
  const std::string tree = unpack(some_tar());
  EXPECT_EQ(info(tree).st_mode & 07777, 0750U);
  EXPECT_EQ(info(tree + "/bin").st_mode & 07777, 02755U);
  EXPECT_EQ(info(tree + "/bin/su").st_mode & 07777, 04755U);
  EXPECT_EQ(info(tree + "/bin/su").st_ino, info(tree + "/bin/su2").st_ino);
  EXPECT_EQ(std::filesystem::read_symlink(tree + "/bin/sh"), "/etc/../su");
  EXPECT_TRUE(S_ISFIFO(info(tree + "/pipe").st_mode));
  EXPECT_EQ(info(tree + "/pipe").st_mode & 07777, 0620U);
  EXPECT_EQ(info(tree + "/deep").st_mode & 07777, 0755U);
  EXPECT_EQ(info(tree + "/locked").st_mode & 07777, 0500U);
  EXPECT_EQ(content_of(tree + "/locked/inside"), "in");
  for (const char* name : {"", "/bin", "/bin/su", "/bin/sh", "/pipe", "/locked"})
    EXPECT_EQ(info(tree + name).st_mtim.tv_sec, 1000000000) << name;
}

TEST_F(LayerReader, OwnersAreShiftedAsRootAndOursOtherwise) {
  const std::string tree = unpack(some_tar());
  const bool root = geteuid() == 0;
  EXPECT_EQ(info(tree + "/bin/su").st_uid, root ? os::kFirstId + 7 : geteuid());
  EXPECT_EQ(info(tree + "/bin/su").st_gid, root ? os::kFirstId + 8 : getegid());
  EXPECT_EQ(info(tree + "/bin/sh").st_uid, root ? os::kFirstId : geteuid());
  EXPECT_EQ(info(tree + "/deep").st_uid, root ? os::kFirstId : geteuid());
}

TEST_F(LayerReader, GzipZstdAndPlainGiveTheSameLayer) {
  const std::string plain = some_tar();
  const std::string half = plain.substr(0, 5000), rest = plain.substr(5000);
  for (const std::string& bytes : {plain, gzipped(plain), zstd_packed(plain), gzipped(half) + gzipped(rest),
                                   zstd_packed(half) + zstd_packed(rest)}) {
    const auto layer = add(store_, bytes);
    ASSERT_TRUE(layer) << layer.error().text();
    EXPECT_EQ(layer->diff_id, sha256_of(plain));
    EXPECT_EQ(layer->size, 300'006U);
    EXPECT_EQ(layer->entries, 9U);
  }
}

TEST_F(LayerReader, WhiteoutsAndOpaqueDirectoriesAreAsAnOverlayTakesThem) {
  const std::string tree = unpack(TarText()
                                      .file("etc/.wh.gone", "")
                                      .file("var/.wh..wh..opq", "")
                                      .directory("var/", 0711)
                                      .file("var/kept")
                                      .file(".wh..wh.plnk", "")
                                      .end());
  EXPECT_TRUE(is_whiteout(tree + "/etc/gone"));
  EXPECT_TRUE(is_opaque(tree + "/var"));
  EXPECT_EQ(info(tree + "/var").st_mode & 07777, 0711U);
  EXPECT_FALSE(is_opaque(tree + "/etc"));
  EXPECT_FALSE(std::filesystem::exists(tree + "/.wh..wh.plnk"));
}

TEST_F(LayerReader, AWhiteoutBesideADirectoryOfItsNameMakesThatOpaque) {
  const std::string tree = unpack(TarText()
                                      .directory("a/")
                                      .file("a/x")
                                      .file(".wh.a", "")
                                      .file(".wh.b", "")
                                      .file("b/x")
                                      .file(".wh.c", "")
                                      .file("c", "new")
                                      .file(".wh.d", "")
                                      .directory("d/")
                                      .end());
  EXPECT_TRUE(is_opaque(tree + "/a"));
  EXPECT_TRUE(std::filesystem::exists(tree + "/a/x"));
  EXPECT_TRUE(is_opaque(tree + "/b"));
  EXPECT_EQ(content_of(tree + "/c"), "new");
  EXPECT_TRUE(is_opaque(tree + "/d"));
}

TEST_F(LayerReader, XattrsOfUsersAreKeptAndAllOthersDropped) {
  const std::string tree = unpack(TarText()
                                      .pax("SCHILY.xattr.user.note", "hello")
                                      .pax("SCHILY.xattr.user.overlay.opaque", "y")
                                      .pax("SCHILY.xattr.security.capability", std::string("\1\0\0\2", 4))
                                      .pax("SCHILY.xattr.trusted.overlay.opaque", "y")
                                      .directory("d/")
                                      .pax("SCHILY.xattr.user.note", "file")
                                      .file("d/f")
                                      .end());
  std::array<char, 256> names{};
  EXPECT_EQ(std::string(names.data(), std::max<ssize_t>(0, listxattr((tree + "/d").c_str(), names.data(), 256))),
            std::string("user.note\0", 10));
  EXPECT_EQ(getxattr((tree + "/d/f").c_str(), "user.note", names.data(), 256), 4);
}

TEST_F(LayerReader, AnotherDiffIdIsRefusedAndNothingIsLeft) {
  const std::string wrong = "sha256:" + std::string(64, 'a');
  const auto layer = add(store_, some_tar(), {.expected_diff_id = wrong});
  ASSERT_FALSE(layer);
  EXPECT_EQ(layer.error().code, Errc::protocol);
  EXPECT_FALSE(store_.has_layer(wrong));
  EXPECT_TRUE(std::filesystem::is_empty(store_.path() + "/layers"));
}

TEST_F(LayerReader, ALayerThatIsThereIsNotReadAgain) {
  const std::string id = sha256_of(some_tar());
  ASSERT_TRUE(add(store_, some_tar(), {.expected_diff_id = id}));
  const auto again = add(store_, "this is no tar", {.expected_diff_id = id});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->entries, 9U);
}

TEST_F(LayerReader, WhatIsWrittenFromATreeIsTheSameLayerAgain) {
  const auto write = [](const std::string& tree) {
    std::string bytes;
    const auto done = write_layer(tree, TreeKind::overlay, [&](std::string_view part) -> Result<void> {
      bytes += part;
      return {};
    });
    EXPECT_TRUE(done) << done.error().text();
    return bytes;
  };
  const std::string first = write(unpack(TarText()
                                             .raw(TarText().directory("./").open_end())
                                             .file("d/.wh.gone", "")
                                             .file("o/.wh..wh..opq", "")
                                             .pax("SCHILY.xattr.user.note", "hello")
                                             .file("o/file", "text")
                                             .hardlink("o/second", "o/file")
                                             .symlink("link", "o/file")
                                             .add({.name = "pipe", .type = '6', .mode = 0600, .uid = 5})
                                             .gnu_name(std::string(150, 'n') + "/" + std::string(150, 'm'))
                                             .file("short", "long")
                                             .end()));
  EXPECT_NE(first.find("d/.wh.gone"), std::string::npos);
  EXPECT_NE(first.find("o/.wh..wh..opq"), std::string::npos);
  EXPECT_TRUE(write(unpack(first)) == first);
}

}  // namespace
}  // namespace cove::image
