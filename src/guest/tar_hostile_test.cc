// Archives that want out. Each test unpacks into `target` and then shows that nothing beside it has changed.

#include <cstring>
#include <random>
#include <vector>

#include "guest/tar.h"
#include "guest/tar_format.h"
#include "guest/test_tree.h"

namespace cove::guest {
namespace {

using proto::FileOp;

struct Member {
  TarEntry entry;
  std::string content;
};

Member file(std::string path, std::string content = "evil") {
  return {{.path = std::move(path), .size = content.size(), .mode = 0644, .mtime = {1, 0}}, content};
}
Member other(TarKind kind, std::string path, std::string link = {}) {
  return {{.path = std::move(path), .kind = kind, .link = std::move(link), .mode = 0777, .mtime = {1, 0}}, {}};
}
Member directory(std::string path) { return other(TarKind::directory, std::move(path)); }
Member symlink_to(std::string link, std::string path) {
  return other(TarKind::symlink, std::move(path), std::move(link));
}
Member hardlink_to(std::string link, std::string path) {
  return other(TarKind::hardlink, std::move(path), std::move(link));
}

std::string archive(const std::vector<Member>& members) {
  const UniqueFd out = memory_file({});
  TarWriter writer(out.get());
  for (const Member& member : members) {
    if (!writer.begin(member.entry) || !writer.data(member.content) || !writer.end()) std::abort();
  }
  if (!writer.finish()) std::abort();
  return bytes_of(out.get());
}

void seal(char* block) {
  auto* header = reinterpret_cast<TarHeader*>(block);
  std::snprintf(header->checksum, sizeof header->checksum, "%06o",
                static_cast<unsigned>(checksums(*header).as_unsigned));
}

// One header and what follows it, as raw as it gets.
std::string raw(char type, std::string_view name, std::string_view size_field, std::string_view data = {}) {
  std::string block(kTarBlock, '\0');
  auto* header = reinterpret_cast<TarHeader*>(block.data());
  std::memcpy(header->name, name.data(), name.size());
  std::memcpy(header->size, size_field.data(), size_field.size());
  std::memcpy(header->magic, "ustar\00000", 8);
  header->type = type;
  seal(block.data());
  block += data;
  block.resize((block.size() + kTarBlock - 1) / kTarBlock * kTarBlock);
  return block;
}

const std::string kEnd(1024, '\0');

class TarHostile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(shell("cd " + scratch_.path() +
                    "; mkdir target outside outside/dir; echo safe > outside/secret;"
                    "chmod 640 outside/secret; touch -d @42 outside/secret outside/dir outside"),
              0);
    before_ = around();
  }
  void TearDown() override { EXPECT_EQ(around(), before_) << "something outside of the target has changed"; }

  std::map<std::string, std::string> around() const {
    auto tree = picture(scratch_.path());
    std::erase_if(tree, [](const auto& item) { return item.first.starts_with("target"); });
    return tree;
  }
  std::string target(const std::string& name = {}) const { return scratch_ / ("target/" + name); }
  std::string outside(const std::string& name = {}) const { return scratch_ / ("outside/" + name); }
  Ran unpack(const std::string& bytes) const { return run({.op = FileOp::tar_in, .path = target()}, bytes); }
  void refused(const std::vector<Member>& members, const std::string& why) const {
    const Ran ran = unpack(archive(members));
    EXPECT_NE(ran.outcome.error_text.find(why), std::string::npos) << "says: " << ran.outcome.error_text;
  }
  void accepted(const std::vector<Member>& members) const {
    EXPECT_EQ(unpack(archive(members)).outcome.error_text, "");
  }

  Scratch scratch_{fast_base()};
  std::map<std::string, std::string> before_;
};

TEST_F(TarHostile, AbsolutePathsAreRefused) {
  refused({file(outside("new"))}, "absolute path");
  refused({directory(outside("newdir"))}, "absolute path");
  refused({symlink_to("x", outside("link"))}, "absolute path");
  refused({hardlink_to("x", outside("hard"))}, "absolute path");
  EXPECT_TRUE(picture(target()).empty());
}

TEST_F(TarHostile, PathsWithDotDotAreRefused) {
  for (const char* path : {"..", "../new", "a/../../new", "a/..", "./../outside/new", "a/../b", "..//new"}) {
    refused({file(path)}, "'..' leads out");
    refused({directory(path)}, "'..' leads out");
  }
  EXPECT_TRUE(picture(target()).empty());
}

TEST_F(TarHostile, NamesThatOnlyLookLikeDotDotAreFiles) {
  accepted({file("..."), file("..a/b.."), file(".hidden")});
  EXPECT_EQ(get(target("..a/b..")), "evil");
}

TEST_F(TarHostile, NothingIsWrittenThroughAPlantedSymlink) {
  const std::string why = "links are not followed";
  for (const std::string& link : {outside(), std::string("../outside"), std::string("..")}) {
    const Member plant = symlink_to(link, "way");
    refused({plant, file("way/secret")}, why);
    refused({plant, file("way/new")}, why);
    refused({plant, file("way/outside/secret")}, why);
    refused({plant, directory("way/newdir")}, why);
    refused({plant, symlink_to("x", "way/link")}, why);
    refused({plant, hardlink_to("way", "way/hard")}, why);
    refused({plant, other(TarKind::fifo, "way/fifo")}, why);
  }
}

TEST_F(TarHostile, AChainOfPlantedSymlinksLeadsNowhere) {
  refused({directory("a"), symlink_to("..", "a/up"), symlink_to("a/up/../outside", "b"), file("b/secret")},
          "links are not followed");
  refused({symlink_to(".", "here"), symlink_to("here/..", "there"), file("here/there/outside/secret")},
          "links are not followed");
}

TEST_F(TarHostile, ADirectoryReplacesAPlantedSymlinkOfItsName) {
  accepted({symlink_to(outside(), "way"), directory("way"), file("way/secret")});
  EXPECT_EQ(get(target("way/secret")), "evil");
}

TEST_F(TarHostile, AFileReplacesAPlantedSymlinkOfItsName) {
  accepted({symlink_to(outside("secret"), "f"), file("f"), symlink_to(outside("new"), "g"), file("g")});
  EXPECT_EQ(get(target("f")), "evil");
  EXPECT_EQ(get(target("g")), "evil");
}

TEST_F(TarHostile, SymlinksThatWereThereBeforeAreNotFollowed) {
  ASSERT_EQ(shell("cd " + target() + "; ln -s ../outside d; ln -s ../outside/secret f; ln -s ../outside/none n"), 0);
  refused({file("d/secret")}, "links are not followed");
  accepted({file("f"), file("n"), other(TarKind::fifo, "d")});
  EXPECT_EQ(get(target("f")), "evil");
  EXPECT_EQ(get(target("n")), "evil");
}

TEST_F(TarHostile, HardLinksToOutsideAreRefused) {
  refused({hardlink_to(outside("secret"), "h")}, "absolute path");
  refused({hardlink_to("../outside/secret", "h")}, "'..' leads out");
  refused({symlink_to("../outside", "way"), hardlink_to("way/secret", "h")}, "links are not followed");
  refused({hardlink_to("missing", "h")}, "No such file");
  refused({hardlink_to("", "h")}, "hard link to nothing");
}

TEST_F(TarHostile, AHardLinkToASymlinkIsNotAWayToItsTarget) {
  accepted({symlink_to("../outside/secret", "soft"), hardlink_to("soft", "h"), file("h")});
  EXPECT_EQ(get(target("h")), "evil");
  accepted({symlink_to("../outside/dir", "softdir"), hardlink_to("softdir", "hd"), directory("hd"), file("hd/x")});
  EXPECT_EQ(get(target("hd/x")), "evil");
}

TEST_F(TarHostile, AFileThatReplacesANameLeavesTheOtherNamesOfItAlone) {
  ASSERT_EQ(link(outside("secret").c_str(), target("shared").c_str()), 0);
  before_ = around();
  accepted({file("shared")});
  EXPECT_EQ(get(target("shared")), "evil");
  EXPECT_EQ(get(outside("secret")), "safe\n");
}

TEST_F(TarHostile, AHardLinkToItselfKeepsTheFile) {
  accepted({file("f"), hardlink_to("./f", "f")});
  EXPECT_EQ(get(target("f")), "evil");
}

TEST_F(TarHostile, ADirectoryThatBecameALinkIsNotGivenItsModeAtTheEnd) {
  accepted({directory("d"), symlink_to("../outside", "./d"), directory("e/"), symlink_to("../outside/dir", "e")});
  EXPECT_TRUE(std::filesystem::is_symlink(target("d")));
  EXPECT_TRUE(std::filesystem::is_symlink(target("e")));
}

TEST_F(TarHostile, AFullDirectoryIsNotReplacedByAFile) {
  refused({directory("d"), file("d/f"), file("d")}, "Directory not empty");
  EXPECT_EQ(get(target("d/f")), "evil");
}

TEST_F(TarHostile, TheTargetItselfCannotBeReplaced) {
  for (const char* name : {".", "./", "", "./."}) {
    refused({symlink_to("../outside", name)}, "without a name");
    refused({hardlink_to("x", name)}, "without a name");
  }
  refused({file(".")}, "without a name");
}

TEST_F(TarHostile, DevicesAreLeftOut) {
  EXPECT_TRUE(unpack(raw('3', "zero", "") + raw('4', "disk", "") + archive({file("f")})).ok());
  EXPECT_EQ(picture(target()).size(), 1U);
}

TEST_F(TarHostile, HugeExtendedHeadersAreRefusedUnread) {
  for (const char type : {'x', 'g', 'L', 'K'}) {
    const std::string text = unpack(raw(type, "h", "00004000001")).outcome.error_text;
    EXPECT_NE(text.find("more than 1 MiB"), std::string::npos) << type << text;
    EXPECT_FALSE(unpack(raw(type, "h", "77777777777")).ok());
    EXPECT_FALSE(unpack(raw(type, "h", std::string_view("\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12))).ok());
  }
}

TEST_F(TarHostile, SizesThatCannotBeAreErrorsAndLeaveNoFile) {
  for (const std::string_view size :
       {std::string_view("77777777777"), std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        std::string_view("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12), std::string_view("12z")}) {
    EXPECT_FALSE(unpack(raw('0', "f", size, "some data")).ok());
  }
  EXPECT_TRUE(picture(target()).empty());
}

TEST_F(TarHostile, PathsOfManyComponentsAreBounded) {
  std::string path;
  while (path.size() <= kMaxPathBytes) path += "a/";
  refused({file(path + "f")}, "more than 64 KiB");
  refused({symlink_to(path, "l")}, "more than 64 KiB");
  refused({file(std::string(300, 'n'))}, "File name too long");
  EXPECT_TRUE(picture(target()).empty());
}

TEST_F(TarHostile, ZeroBytesInPaxPathsAreRefused) {
  std::string records;
  append_pax(records, "path", std::string_view("good\0bad", 8));
  const std::string size = std::string("000000000") + (records.size() == 17 ? "21" : "22");
  EXPECT_NE(unpack(raw('x', "h", size, records) + archive({file("f")})).outcome.error_text.find("zero byte"),
            std::string::npos);
  EXPECT_TRUE(picture(target()).empty());
}

TEST_F(TarHostile, AGlobalPaxPathCannotLeadOutEither) {
  std::string records;
  append_pax(records, "path", "../outside/secret");
  char size[12];
  std::snprintf(size, sizeof size, "%011zo", records.size());
  EXPECT_NE(unpack(raw('g', "h", size, records) + archive({file("f")})).outcome.error_text.find("'..'"),
            std::string::npos);
  EXPECT_NE(unpack(raw('L', "h", "00000000012", "../outside") + archive({file("f")})).outcome.error_text.find("'..'"),
            std::string::npos);
}

TEST_F(TarHostile, SparseEntriesAreRefusedWithARemedy) {
  ASSERT_EQ(shell("cd " + target() + "; truncate -s 1M hole; echo x >> hole"), 0);
  for (const std::string options : {"--format=gnu", "--format=posix", "--format=posix --sparse-version=0.1"}) {
    ASSERT_EQ(shell("cd " + target() + "; tar -S " + options + " -cf a.tar hole"), 0);
    const Ran ran = unpack(get(target("a.tar")));
    EXPECT_EQ(ran.outcome.error, Errc::unsupported);
    EXPECT_NE(ran.outcome.error_text.find("without --sparse"), std::string::npos) << ran.outcome.error_text;
  }
}

TEST_F(TarHostile, WhatIsNoTarIsRefused) {
  for (const std::string& bytes :
       {std::string(), std::string("hello"), std::string(5000, 'x'), std::string(100, '\0')}) {
    EXPECT_EQ(unpack(bytes).outcome.error, Errc::protocol);
  }
  std::string flipped = archive({file("f")});
  flipped[0] = 'g';
  EXPECT_NE(unpack(flipped).outcome.error_text.find("checksum"), std::string::npos);
  EXPECT_TRUE(picture(target()).empty());
}

std::vector<Member> sample() {
  return {directory("d"),
          file("d/f", std::string(1300, 'c')),
          symlink_to("f", "d/l"),
          hardlink_to("d/f", "h"),
          file(std::string(150, 'n'), "long"),
          other(TarKind::fifo, "p"),
          file("last", std::string(512, 'z'))};
}

TEST_F(TarHostile, EveryTruncatedArchiveIsAnErrorAndLeavesNoHalfFile) {
  const std::string whole = archive(sample());
  const std::string head(1300, 'c'), tail(512, 'z');
  for (std::size_t size = 0; size <= whole.size() - 1024; size += 256) {
    ASSERT_EQ(shell("rm -rf " + target()), 0);
    const Ran ran = unpack(whole.substr(0, size));
    ASSERT_EQ(ran.outcome.error, Errc::protocol) << size;
    ASSERT_NE(ran.outcome.error_text, "") << size;
    ASSERT_TRUE(!std::filesystem::exists(target("d/f")) || get(target("d/f")) == head) << size;
    ASSERT_TRUE(!std::filesystem::exists(target("last")) || get(target("last")) == tail) << size;
  }
  EXPECT_TRUE(unpack(whole.substr(0, whole.size() - 512)).ok());  // a lone zero block: nothing is missing
  EXPECT_TRUE(unpack(whole + std::string(9000, '\0')).ok());
}

// Headers are sealed again two times out of three; otherwise every mutation would end at the checksum.
TEST_F(TarHostile, RandomChangesNeverReachTheOutside) {
  std::vector<Member> members = sample();
  for (Member member : {symlink_to("../outside", "way"), file("wax/secret"), directory("way"), file("way/dir/x"),
                        hardlink_to("way/secret", "hh"), file("xx/outside/secret"), file("x./outside/new"),
                        directory("x."), file("." + outside("new")), symlink_to(outside(), "d"), file("d/secret")}) {
    members.push_back(std::move(member));
  }
  const std::string good = archive(members);
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const std::string pieces[] = {"..", "/", "way", ".", "d", std::string(1, '\0'), "\xff", "7"};
  int unpacked = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bytes = good;
    for (std::size_t n = 1 + below(6); n > 0; --n) {
      const std::size_t block = below(bytes.size() / kTarBlock) * kTarBlock;
      const std::size_t at = block + (below(2) == 0 ? below(12) : below(2) == 0 ? 156 + below(12) : below(kTarBlock));
      const std::string& piece = pieces[below(std::size(pieces))];
      if (below(3) == 0)
        bytes[at] = static_cast<char>(below(256));
      else
        bytes.replace(at, piece.size(), piece);
      bytes.resize(good.size());
      if (below(3) != 0) seal(bytes.data() + block);
    }
    // Some start at a later entry, so that an early error does not hide what comes after it.
    unpacked += unpack(bytes.substr(below(4) == 0 ? below(bytes.size() / kTarBlock) * kTarBlock : 0)).ok() ? 1 : 0;
    if (i % 8 == 0) {
      ASSERT_TRUE(run({.op = FileOp::remove, .path = target()}).ok());
      ASSERT_EQ(around(), before_) << "iteration " << i;
    }
  }
  EXPECT_GT(unpacked, 20);
}

}  // namespace
}  // namespace cove::guest
