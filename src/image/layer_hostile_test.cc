// Layers that want out, or want too much. Each is refused or contained: nothing beside the layer's tree has changed,
// and after a refusal nothing is in the store.

#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <functional>

#include "image/digest.h"
#include "image/test_tar.h"

namespace cove::image {
namespace {

enum class Fate : unsigned char { refused, contained };

struct Case {
  const char* name;
  Fate fate;
  std::function<std::string(const TestHome&)> bytes;
  AddLayer how = {};
  std::function<bool(const std::string& tree)> also = {};  // of a contained one
};

// For gtest: not the bytes of its functions.
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

std::string octal_field(std::string_view text) { return std::string(text); }
std::string base256(unsigned char fill) { return '\x80' + std::string(11, static_cast<char>(fill)); }
bool exists(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0;
}

AddLayer small(UnpackLimits limits) { return {.limits = limits}; }

std::string deep_path(int levels) {
  std::string path;
  for (int i = 0; i < levels; ++i) path += "d/";
  return path + "f";
}

std::vector<Case> all_cases() {
  using T = TarText;
  const auto outside = [](const TestHome& home) { return home.outside() + "/new"; };
  const auto just = [](std::string bytes) { return [bytes = std::move(bytes)](const TestHome&) { return bytes; }; };
  return {
      // Paths.
      {"AbsolutePath", Fate::contained, [=](const TestHome& h) { return T().file(outside(h)).end(); }},
      {"DotDot", Fate::refused, just(T().file("../outside/new").end())},
      {"DotDotInTheMiddle", Fate::refused, just(T().file("a/../../outside/new").end())},
      {"DotDotAtTheEnd", Fate::refused, just(T().directory("a/..").end())},
      {"ManyDotDots", Fate::refused, just(T().file("../../../../../../../../../tmp/cove-hostile-new").end())},
      {"DotDotInPrefixFieldOfAbsolute", Fate::refused, just(T().file("/../outside/new").end())},
      {"PaxPathWithDotDot", Fate::refused, just(T().pax("path", "../outside/new").file("harmless").end())},
      {"PaxPathAbsolute", Fate::contained,
       [=](const TestHome& h) { return T().pax("path", outside(h)).file("harmless").end(); }},
      {"GlobalPaxPathWithDotDot", Fate::refused, just(T().pax("path", "../outside/new", 'g').file("x").end())},
      {"GnuLongNameWithDotDot", Fate::refused, just(T().gnu_name("../outside/new").file("harmless").end())},
      {"PaxPathWithZeroByte", Fate::refused,
       just(T().pax("path", std::string("ok\0/../../outside/new", 21)).file("x").end())},
      {"NameWithNewlineAndEscape", Fate::contained, just(T().file("a\n\x1b[2J").end())},
      {"EmptyName", Fate::refused, just(T().file("").end())},
      {"RootAsAFile", Fate::refused, just(T().file("./").symlink("./", "/").end())},
      {"PathLongerThan4096", Fate::refused, just(T().gnu_name(std::string(5000, 'a')).file("x").end())},
      {"NameLongerThan255", Fate::refused, just(T().gnu_name(std::string(300, 'a')).file("x").end())},
      {"DeeperThanTheLimit", Fate::refused, just(T().gnu_name(deep_path(300)).file("x").end())},
      // Links.
      {"SymlinkParentAbsolute", Fate::refused,
       [](const TestHome& h) { return T().symlink("d", h.outside()).file("d/new").end(); }},
      {"SymlinkParentRelative", Fate::refused, just(T().symlink("d", "../../../../../outside").file("d/new").end())},
      {"SymlinkParentInsideTheTree", Fate::refused, just(T().directory("e").symlink("d", "e").file("d/new").end())},
      {"SymlinkInPlaceOfAFileIsNotWrittenThrough",
       Fate::contained,
       [](const TestHome& h) { return T().symlink("f", h.outside() + "/victim").file("f", "new").end(); },
       {},
       [](const std::string& tree) { return content_of(tree + "/f") == "new"; }},
      {"SymlinkReplacedByDirectoryAndFilled", Fate::contained,
       [](const TestHome& h) { return T().symlink("d", h.outside()).directory("d/").file("d/new").end(); }},
      {"DirectoryEntryOverSymlinkDoesNotChangeItsTarget", Fate::contained,
       [](const TestHome& h) { return T().symlink("d", h.outside()).directory("d/", 0777).end(); }},
      {"DirectoryReplacedBySymlinkThenFilled", Fate::refused,
       [](const TestHome& h) { return T().directory("d").symlink("d", h.outside()).file("d/new").end(); }},
      {"SymlinkWithEmptyTarget", Fate::refused, just(T().symlink("s", "").end())},
      {"SymlinkTargetWithZeroByte", Fate::refused,
       just(T().pax("linkpath", std::string("a\0b", 3)).symlink("s", "x").end())},
      {"SymlinkOfEndlessLength", Fate::refused,
       just(T().pax("linkpath", std::string(60000, 'l')).symlink("s", "x").end())},
      {"HardLinkOutside", Fate::refused, just(T().hardlink("h", "../../../../outside/victim").end())},
      {"HardLinkToAbsolutePath", Fate::refused,
       [](const TestHome& h) { return T().hardlink("h", h.outside() + "/victim").end(); }},
      {"HardLinkThroughSymlink", Fate::refused,
       [](const TestHome& h) { return T().symlink("d", h.outside()).hardlink("h", "d/victim").end(); }},
      {"HardLinkToSymlinkLinksTheLink", Fate::contained,
       [](const TestHome& h) {
         return T().symlink("s", h.outside() + "/victim").hardlink("h", "s").file("h", "overwritten").end();
       }},
      {"PaxLinkpathOutside", Fate::refused,
       just(T().pax("linkpath", "../../../../outside/victim").hardlink("h", "x").end())},
      {"HardLinkToItself", Fate::refused, just(T().file("h").hardlink("h", "h").end())},
      {"HardLinkToWhatIsBelowItself", Fate::refused, just(T().file("h/x").hardlink("h", "h/x").end())},
      {"HardLinkToDirectory", Fate::refused, just(T().directory("d").hardlink("h", "d").end())},
      {"HardLinkToWhiteout", Fate::refused, just(T().file(".wh.w", "").hardlink("h", "w").end())},
      {"HardLinkToWhatComesLater", Fate::refused, just(T().hardlink("h", "later").file("later").end())},
      {"HardLinkedFileReplacedLeavesTheOther",
       Fate::contained,
       just(T().file("a", "one").hardlink("b", "a").file("b", "two").end()),
       {},
       [](const std::string& tree) { return content_of(tree + "/a") == "one"; }},
      // Devices.
      {"CharacterDevice",
       Fate::contained,
       just(T().add({.name = "null", .type = '3', .device = "0000001"}).end()),
       {},
       [](const std::string& tree) { return !exists(tree + "/null"); }},
      {"BlockDevice",
       Fate::contained,
       just(T().add({.name = "sda", .type = '4', .device = "0000010"}).end()),
       {},
       [](const std::string& tree) { return !exists(tree + "/sda"); }},
      {"DeviceThatLooksLikeAWhiteout",
       Fate::contained,
       just(T().add({.name = "etc", .type = '3'}).end()),
       {},
       [](const std::string& tree) { return !exists(tree + "/etc"); }},
      {"UnknownType", Fate::refused, just(T().add({.name = "x", .type = '?'}).end())},
      // Whiteouts.
      {"WhiteoutOfNothing", Fate::refused, just(T().file(".wh.", "").end())},
      {"WhiteoutOfDot", Fate::refused, just(T().file("a/.wh..", "").end())},
      {"WhiteoutOfDotDot", Fate::refused, just(T().file("a/.wh...", "").end())},
      {"WhiteoutAsADirectory", Fate::refused, just(T().directory(".wh.d").end())},
      {"WhiteoutOnTheWay", Fate::refused, just(T().file("a/.wh.d/f", "").end())},
      {"WhiteoutWithContent", Fate::contained, just(T().file(".wh.w", "payload").end())},
      {"WhiteoutAsASymlink", Fate::contained,
       [](const TestHome& h) { return T().symlink(".wh.w", h.outside()).end(); }},
      {"OpaqueBelowASymlink", Fate::refused,
       [](const TestHome& h) { return T().symlink("d", h.outside()).file("d/.wh..wh..opq", "").end(); }},
      // Names twice.
      {"FileThenDirectory",
       Fate::contained,
       just(T().file("n").directory("n").file("n/f", "in").end()),
       {},
       [](const std::string& tree) { return content_of(tree + "/n/f") == "in"; }},
      {"DirectoryThenFile",
       Fate::contained,
       just(T().directory("n").file("n/a/b").file("n", "file").end()),
       {},
       [](const std::string& tree) { return content_of(tree + "/n") == "file"; }},
      {"FullDirectoryReplacedWhileItsPathIsOpen",
       Fate::contained,
       just(T().file("n/a/b").file("n/a", "x").directory("n/a").file("n/a/c", "y").end()),
       {},
       [](const std::string& tree) { return content_of(tree + "/n/a/c") == "y"; }},
      {"FileAsAParent", Fate::refused, just(T().file("n").file("n/f").end())},
      {"TheSameFileAThousandTimes",
       Fate::contained,
       [](const TestHome&) {
         T tar;
         for (int i = 0; i < 1000; ++i) tar.file("same", std::to_string(i));
         return tar.end();
       },
       {},
       [](const std::string& tree) { return content_of(tree + "/same") == "999"; }},
      // Sizes.
      {"HugeSize", Fate::refused, just(T().add({.name = "x", .size = octal_field("77777777777")}).end())},
      {"HugeSizeInBase256", Fate::refused, just(T().add({.name = "x", .size = base256(0x7f)}).end())},
      {"NegativeSize", Fate::refused, just(T().add({.name = "x", .size = std::string(12, '\xff')}).end())},
      {"SizeThatIsNoNumber", Fate::refused, just(T().add({.name = "x", .size = octal_field("9z9z9z9z9z9")}).end())},
      {"PaxSizeOverflow", Fate::refused, just(T().pax("size", "99999999999999999999999").file("x").end())},
      {"PaxSizeLargerThanTheArchive", Fate::refused, just(T().pax("size", "1000000000").file("x").end())},
      {"PaxSizeNegative", Fate::refused, just(T().pax("size", "-5").file("x").end())},
      {"PaxRecordWithALyingLength", Fate::refused,
       just(T().add({.name = "p", .type = 'x', .content = "9999999 path=a\n"}).file("x").end())},
      {"PaxHeaderOfEndlessSize", Fate::refused,
       just(T().add({.name = "p", .type = 'x', .size = octal_field("77777777777")}).end())},
      {"GnuLongNameOfEndlessSize", Fate::refused,
       just(T().add({.name = "p", .type = 'L', .size = octal_field("77777777777")}).end())},
      {"GnuLongNamesWithoutAnEnd", Fate::refused,
       [](const TestHome&) {
         T tar;
         for (int i = 0; i < 2000; ++i) tar.gnu_name("again");
         return tar.end();
       }},
      {"OldGnuSparse", Fate::refused, just(T().add({.name = "x", .type = 'S', .content = "data"}).end())},
      {"PaxSparseWithAHugeRealSize", Fate::refused,
       just(T().pax("GNU.sparse.realsize", "9223372036854775807").file("x").end())},
      // Bombs.
      {"MoreBytesThanTheLimit", Fate::refused, just(gzipped(T().file("x", std::string(3 << 20, 'x')).end())),
       small({.bytes = 1 << 20})},
      {"ZerosByTheThousand", Fate::refused, just(gzipped(T().file("x", std::string(16 << 20, '\0')).end())),
       small({.ratio = 100, .free_bytes = 1 << 20})},
      {"ZerosInZstd", Fate::refused, just(zstd_packed(T().file("x", std::string(16 << 20, '\0')).end())),
       small({.ratio = 100, .free_bytes = 1 << 20})},
      {"BombBehindTheEndOfTheTar", Fate::refused, just(gzipped(T().file("x").end() + std::string(16 << 20, '\0'))),
       small({.bytes = 1 << 20})},
      {"MoreEntriesThanTheLimit", Fate::refused,
       [](const TestHome&) {
         T tar;
         for (int i = 0; i < 200; ++i) tar.file("f" + std::to_string(i), "");
         return tar.end();
       },
       small({.entries = 100})},
      // Damage.
      {"NotATar", Fate::refused, just(std::string(4096, 'x'))},
      {"Empty", Fate::refused, just("")},
      {"TruncatedInContent", Fate::refused, just(T().file("x", std::string(5000, 'x')).cut(600))},
      {"WithoutItsEnd", Fate::refused, just(T().file("x").open_end())},
      {"BadChecksum", Fate::refused, just("y" + T().file("x").end().substr(1))},
      {"EndsAfterAnExtendedHeader", Fate::refused, just(T().pax("path", "x").end())},
      {"TruncatedGzip", Fate::refused, just(gzipped(T().file("x").end()).substr(0, 60))},
      {"GzipWithAWrongChecksum", Fate::refused,
       [](const TestHome&) {
         std::string bytes = gzipped(T().file("x").end());
         bytes[bytes.size() - 6] ^= 1;
         return bytes;
       }},
      {"GzipThenGarbage", Fate::refused, just(gzipped(T().file("x").end()) + "garbage")},
      {"TruncatedZstd", Fate::refused, just(zstd_packed(T().file("x").end()).substr(0, 40))},
      {"DamagedZstd", Fate::refused, just("\x28\xb5\x2f\xfd" + std::string(100, 'z'))},
      {"WrongDiffId", Fate::refused, just(T().file("x").end()), {.expected_diff_id = "sha256:" + std::string(64, 'e')}},
      // Rights.
      {"SetUserIdOnADirectory", Fate::contained, just(T().directory("d", 07777).end())},
      {"OverlayXattrsOfAFile",
       Fate::contained,
       just(T().pax("SCHILY.xattr.user.overlay.redirect", "/../../outside").directory("d").end()),
       {},
       [](const std::string& tree) {
         return getxattr((tree + "/d").c_str(), "user.overlay.redirect", nullptr, 0) < 0;
       }},
      {"OverlayWhiteoutXattr",
       Fate::contained,
       just(T().pax("SCHILY.xattr.user.overlay.whiteout", "y").file("f", "").end()),
       {},
       [](const std::string& tree) {
         return getxattr((tree + "/f").c_str(), "user.overlay.whiteout", nullptr, 0) < 0;
       }},
      {"FileCapability",
       Fate::contained,
       just(T().pax("SCHILY.xattr.security.capability",
                    std::string("\1\0\0\2\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0", 20))
                .file("f")
                .end()),
       {},
       [](const std::string& tree) { return getxattr((tree + "/f").c_str(), "security.capability", nullptr, 0) < 0; }},
      {"XattrWithAnEndlessName", Fate::refused,
       just(T().pax("SCHILY.xattr.user." + std::string(1000, 'n'), "v").file("f").end())},
      {"OwnerBelowZero", geteuid() == 0 ? Fate::refused : Fate::contained, just(T().pax("uid", "-1").file("f").end())},
      {"OwnerBeyond65535", geteuid() == 0 ? Fate::refused : Fate::contained,
       just(T().add({.name = "f", .uid = 65536}).end())},
  };
}

class Hostile : public testing::TestWithParam<Case> {};

TEST_P(Hostile, LayerIsRefusedOrContained) {
  const Case& one = GetParam();
  const TestHome home;
  Store store = *Store::open(home.home());
  const std::string before = home.around();
  const auto layer = add(store, one.bytes(home), one.how);
  EXPECT_EQ(home.around(), before);
  EXPECT_EQ(content_of(home.outside() + "/victim"), "precious");
  ASSERT_EQ(layer.has_value(), one.fate == Fate::contained) << (layer ? layer->diff_id : layer.error().text());
  if (layer) {
    const std::string tree = store.layer_path(layer->diff_id);
    EXPECT_TRUE(exists(tree));
    EXPECT_TRUE(!one.also || one.also(tree));
  } else {
    EXPECT_TRUE(std::filesystem::is_empty(store.path() + "/layers"));
    EXPECT_FALSE(layer.error().message.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Hostile, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(HostileCorpus, HasAtLeastThirtyArchives) { EXPECT_GE(all_cases().size(), 30U); }

}  // namespace

}  // namespace cove::image
