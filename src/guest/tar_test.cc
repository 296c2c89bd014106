#include "guest/tar.h"

#include <cstring>
#include <vector>

#include "guest/tar_format.h"
#include "guest/test_tree.h"

namespace cove::guest {
namespace {

using proto::FileOp;

const std::string kLong(90, 'n');

// What every dialect can hold.
void make_plain_tree(const std::string& top) {
  const std::string script = R"sh(
    mkdir empty sub 'with space'; echo hello > sub/f; : > nothing
    head -c 70000 /dev/urandom > sub/big; head -c 512 /dev/urandom > sub/block
    ln sub/f hard; ln -s sub/f soft; ln -s /nowhere/at/all dangling
    echo s > "$(printf 'new\nline')"; echo b > "$(printf 'by\377te')"
    chmod 400 nothing; chmod 1777 empty; chmod 700 sub
    touch -d @1000000000 hard sub/f sub/big; touch -hd @5 soft dangling; touch -d @77 empty sub .)sh";
  ASSERT_EQ(shell("mkdir -p " + top + "; cd " + top + script), 0);
}

// And what only newer ones can: long names, times below a second and before the epoch.
void make_full_tree(const std::string& top) {
  make_plain_tree(top);
  const std::string deep = kLong + "/" + kLong + "x/" + kLong + "y/" + kLong;
  const std::string script = R"sh(
    mkdir -p $deep; echo deep > $deep/file; mkfifo fifo; chmod 640 fifo
    ln $deep/file zhard; ln -s $deep/$deep longlink; echo x > $long
    touch -d @-1.5 hard; touch -d @0.000000001 nothing; touch -hd @123.456789 soft; touch -d @9.875 empty .)sh";
  ASSERT_EQ(shell("cd " + top + "; deep=" + deep + "; long=" + std::string(255, 'c') + script), 0);
}

Ran unpack(const std::string& into, const std::string& archive) {
  return run({.op = FileOp::tar_in, .path = into}, archive);
}

std::string error_of(const Ran& ran) { return ran.outcome.error_text.substr(0, 300); }

class TarDialect : public testing::TestWithParam<const char*> {};

TEST_P(TarDialect, OfGnuTarIsUnpacked) {
  const Scratch scratch;
  const std::string format = GetParam();
  const bool long_names = format == "posix" || format == "gnu" || format == "oldgnu";
  long_names ? make_full_tree(scratch / "old/tree") : make_plain_tree(scratch / "old/tree");
  ASSERT_EQ(shell("cd " + scratch.path() + "; tar --format=" + format + " -C old -cf a.tar tree"), 0);
  EXPECT_EQ(error_of(unpack(scratch / "made/new", get(scratch / "a.tar"))), "");
  const Times times = format == "posix" ? Times::exact : Times::seconds;
  EXPECT_EQ(picture(scratch / "made/new", times), picture(scratch / "old", times));
}

TEST_P(TarDialect, ChangesNothingWhenUnpackedOverItself) {
  const Scratch scratch;
  make_plain_tree(scratch / "tree");
  ASSERT_EQ(shell("cd " + scratch.path() + "; tar --format=" + GetParam() + " -C tree -cf a.tar ."), 0);
  const auto before = picture(scratch / "tree", Times::seconds);
  EXPECT_EQ(error_of(unpack(scratch / "tree", get(scratch / "a.tar"))), "");
  EXPECT_EQ(picture(scratch / "tree", Times::seconds), before);
}

INSTANTIATE_TEST_SUITE_P(Gnu, TarDialect, testing::Values("v7", "oldgnu", "gnu", "ustar", "posix"));

class TarTool : public testing::TestWithParam<const char*> {};

TEST_P(TarTool, UnpacksWhatWeWrite) {
  const std::string tool = GetParam();
  if (shell("command -v " + tool + " >/dev/null") != 0) GTEST_SKIP() << tool << " is not installed";
  const Scratch scratch;
  make_full_tree(scratch / "old/tree");
  // libarchive 3.6 reads the fraction of a time before 1970 the wrong way round.
  if (tool == "bsdtar") {
    ASSERT_EQ(shell("touch -d @7 " + scratch / "old/tree/hard"), 0);
  }
  const Ran ran = run({.op = FileOp::tar_out, .path = scratch / "old/tree/"});
  ASSERT_EQ(error_of(ran), "");
  put(scratch / "a.tar", ran.output);
  ASSERT_EQ(shell("cd " + scratch.path() + "; mkdir new; " + tool + " -xpf a.tar -C new"), 0);
  EXPECT_EQ(picture(scratch / "new"), picture(scratch / "old"));
}

INSTANTIATE_TEST_SUITE_P(Installed, TarTool, testing::Values("tar", "bsdtar"));

TEST(Tar, ComesBackAsItWentThroughBothOfOurs) {
  const Scratch scratch;
  make_full_tree(scratch / "old/tree");
  const Ran packed = run({.op = FileOp::tar_out, .path = scratch / "old/tree"});
  ASSERT_EQ(error_of(packed), "");
  EXPECT_EQ(error_of(unpack(scratch / "new", packed.output)), "");
  EXPECT_EQ(picture(scratch / "new"), picture(scratch / "old"));
}

TEST(Tar, HoldsASingleFileALinkAndTheCurrentDirectory) {
  const Scratch scratch;
  ASSERT_EQ(shell("cd " + scratch.path() + "; mkdir d; echo x > d/f; ln -s d l; cd d; ln -s f g"), 0);
  const auto names = [&](const std::string& path) {
    put(scratch / "a.tar", run({.op = FileOp::tar_out, .path = path}).output);
    EXPECT_EQ(shell("tar -tf " + (scratch / "a.tar") + " > " + (scratch / "names")), 0);
    return get(scratch / "names");
  };
  EXPECT_EQ(names(scratch / "d/f"), "f\n");
  EXPECT_EQ(names(scratch / "l"), "l\n");
  EXPECT_EQ(names(scratch / "l/"), "l/\nl/f\nl/g\n");
  EXPECT_EQ(names(scratch / "d/."), "./\n./f\n./g\n");
}

TEST(Tar, HoldsFilesOfProcAndLeavesOutDevices) {
  const Scratch scratch;
  EXPECT_TRUE(unpack(scratch.path(), run({.op = FileOp::tar_out, .path = "/proc/version"}).output).ok());
  EXPECT_EQ(get(scratch / "version"), get("/proc/version"));
  EXPECT_EQ(run({.op = FileOp::tar_out, .path = "/dev/null"}).output, std::string(1024, '\0'));
}

// Longer than PATH_MAX and than the limit of open files, both ways. The names in the archive grow with the square of
// it.
TEST(Tar, HoldsATreeDeeperThanAnyPath) {
  const Scratch scratch(fast_base());
  make_deep(scratch / "deep", 2'500);
  const Ran packed = run({.op = FileOp::tar_out, .path = scratch / "deep"});
  ASSERT_EQ(error_of(packed), "");
  EXPECT_EQ(error_of(unpack(scratch / "new", packed.output)), "");
  EXPECT_EQ(depth_of(scratch / "new/deep"), 2'500);
}

TEST(Tar, DropsSetIdBitsAndTheOwner) {
  const Scratch scratch;
  ASSERT_EQ(shell("cd " + scratch.path() +
                  "; echo x > f; mkdir d; chmod 6755 f; chmod 2755 d;"
                  "tar --owner=4321 --group=4321 -cf a.tar f d"),
            0);
  ASSERT_TRUE(unpack(scratch / "new", get(scratch / "a.tar")).ok());
  struct stat file, directory;
  ASSERT_EQ(stat((scratch / "new/f").c_str(), &file), 0);
  ASSERT_EQ(stat((scratch / "new/d").c_str(), &directory), 0);
  EXPECT_EQ(file.st_mode & 07777, 0755U);
  EXPECT_EQ(directory.st_mode & 07777, 0755U);
  EXPECT_EQ(file.st_uid, geteuid());
  EXPECT_EQ(file.st_gid, getegid());
}

TEST(Tar, UnpacksBelowDirectoriesThatTheirOwnerMayNotEnter) {
  const Scratch scratch;
  ASSERT_EQ(shell("cd " + scratch.path() + "; chmod 777 .; mkdir -p t/u/v; echo x > t/u/v/f; tar --mode=0 -cf a.tar t"),
            0);
  const std::string archive = get(scratch / "a.tar");
  EXPECT_EQ(as_nobody([&] { return unpack(scratch / "new", archive).outcome.error_text; }), "");
  EXPECT_EQ(
      shell("cd " + scratch.path() + "/new; for d in t t/u t/u/v; do test $(stat -c %a $d) = 0; chmod 700 $d; done"),
      0);
}

TEST(Tar, WritesSizesAndOwnersThatDoNotFitIntoUstar) {
  const UniqueFd out = memory_file({});
  TarWriter writer(out.get());
  ASSERT_TRUE(writer.begin({.path = "big", .size = std::uint64_t{9} << 30, .uid = 3'000'000, .gid = 4'000'000'000}));
  ASSERT_TRUE(writer.data(std::string(200'000, 'x')));  // past the buffer, so that the headers are out
  const std::string bytes = bytes_of(out.get());
  EXPECT_NE(bytes.find(" size=9663676416\n"), std::string::npos);
  EXPECT_NE(bytes.find(" uid=3000000\n"), std::string::npos);
  EXPECT_NE(bytes.find(" gid=4000000000\n"), std::string::npos);
  EXPECT_FALSE(writer.end());
}

TEST(TarFormat, ReadsNumbersInBothForms) {
  const auto number = [](std::string_view field) { return parse_number(field).value_or(-999); };
  EXPECT_EQ(number(std::string_view("0000644\0", 8)), 0644);
  EXPECT_EQ(number("   644 \0"), 0644);
  EXPECT_EQ(number(std::string_view("\0\0\0\0", 4)), 0);
  EXPECT_EQ(number("77777777"), 077777777);
  EXPECT_EQ(number("64x"), -999);
  EXPECT_EQ(number("-1"), -999);
  EXPECT_EQ(number(std::string_view("\x80\0\0\2\1", 5)), 513);
  EXPECT_EQ(number("\xff\xff\xff\xfe"), -2);
  EXPECT_EQ(number("\x80\x7f\xff\xff\xff\xff\xff\xff\xff"), INT64_MAX);
  EXPECT_EQ(number(std::string_view("\x80\x80\0\0\0\0\0\0\0", 9)), -999);
}

TEST(TarFormat, WritesTimesAsItReadsThem) {
  for (const timespec time : {timespec{0, 0}, timespec{1, 5}, timespec{-1, 0}, timespec{-1, 500'000'000},
                              timespec{-3, 1}, timespec{4'000'000'000, 999'999'999}}) {
    const auto again = parse_pax_time(format_pax_time(time));
    ASSERT_TRUE(again) << format_pax_time(time);
    EXPECT_EQ(again->tv_sec, time.tv_sec);
    EXPECT_EQ(again->tv_nsec, time.tv_nsec);
  }
  EXPECT_EQ(format_pax_time({-1, 500'000'000}), "-0.500000000");
  EXPECT_FALSE(parse_pax_time("1.5x"));
  EXPECT_FALSE(parse_pax_time(".5"));
  EXPECT_FALSE(parse_pax_time(""));
}

TEST(TarFormat, CountsTheDigitsOfAPaxRecordsLength) {
  for (std::size_t size = 1; size < 1100; ++size) {
    std::string records;
    append_pax(records, "path", std::string(size, 'p'));
    PaxFields fields;
    ASSERT_TRUE(apply_pax(records, fields)) << size;
    ASSERT_EQ(fields.path->size(), size);
  }
}

TEST(TarFormat, RefusesBrokenPaxRecords) {
  for (const char* records : {"x", "5", "0 a=b\n", "6 a=b\n\n", "99 a=b\n", "6 a=b", "6 abc\n", "-6 a=b\n", "3 a",
                              "11 size=xy\n", "18446744073709551615 a=b\n", "12 mtime=1x\n"}) {
    PaxFields fields;
    EXPECT_FALSE(apply_pax(records, fields)) << records;
  }
}

TEST(TarFormat, TakesAPaxFieldBackByAnEmptyValue) {
  PaxFields fields;
  ASSERT_TRUE(apply_pax("12 path=abc\n9 size=1\n", fields).has_value());
  EXPECT_EQ(fields.path, "abc");
  ASSERT_TRUE(apply_pax("8 path=\n", fields).has_value());
  EXPECT_FALSE(fields.path);
}

}  // namespace
}  // namespace cove::guest
