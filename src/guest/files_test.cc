#include "guest/files.h"

#include <sched.h>
#include <sys/mount.h>

#include <csignal>

#include "guest/file_ops.h"
#include "guest/test_tree.h"
#include "proto/codec.h"

namespace cove::guest {
namespace {

using proto::FileOp;
using proto::FileType;

mode_t mode_of(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}
ino_t inode_of(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}
bool exists(const std::string& path) { return std::filesystem::exists(std::filesystem::symlink_status(path)); }
std::size_t count(const std::string& path) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
}

TEST(FileRead, GivesTheBytesFromAnOffsetUpToALimit) {
  const Scratch scratch;
  const std::string bytes("0123456789\0\xff\n", 13);
  put(scratch / "f", bytes);
  EXPECT_EQ(run({.op = FileOp::read, .path = scratch / "f"}).output, bytes);
  EXPECT_EQ(run({.op = FileOp::read, .path = scratch / "f", .offset = 3, .limit = 4}).output, "3456");
  EXPECT_EQ(run({.op = FileOp::read, .path = scratch / "f", .offset = 99}).output, "");
  EXPECT_EQ(run({.op = FileOp::read, .path = scratch / "f", .limit = 1000}).output, bytes);
}

TEST(FileRead, GivesAFileThatSaysItIsEmpty) {
  EXPECT_NE(run({.op = FileOp::read, .path = "/proc/cpuinfo"}).output.find("processor"), std::string::npos);
  EXPECT_EQ(run({.op = FileOp::read, .path = "/proc/version", .limit = 5}).output, "Linux");
}

TEST(FileRead, NamesThePathAndTheReasonWhenItFails) {
  const Scratch scratch;
  Ran ran = run({.op = FileOp::read, .path = scratch / "nope"});
  EXPECT_EQ(ran.outcome.error, Errc::not_found);
  EXPECT_EQ(ran.outcome.error_text, "read " + (scratch / "nope") + ": No such file or directory");
  ran = run({.op = FileOp::read, .path = scratch.path()});
  EXPECT_EQ(ran.outcome.error_text, "read " + scratch.path() + ": Is a directory");
  ran = run({.op = FileOp::read, .path = scratch / "f", .offset = ~0ULL});
  EXPECT_FALSE(ran.ok());
}

TEST(FileRead, EndsWithAnErrorWhenNobodyReads) {
  const Scratch scratch;
  put(scratch / "f", std::string(1 << 20, 'x'));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const FileOutcome outcome = run_file_request(Ask{.op = FileOp::read, .path = scratch / "f"}, -1, ends[1]);
  close(ends[1]);
  EXPECT_EQ(outcome.error, Errc::disconnected);
  EXPECT_EQ(outcome.error_text, "write output: Broken pipe");
}

TEST(FileRequest, RefusesAPathThatIsEmptyOrHasAZeroByte) {
  const Scratch scratch;
  put(scratch / "f", "x");
  EXPECT_EQ(run({.op = FileOp::stat, .path = ""}).outcome.error, Errc::invalid);
  EXPECT_EQ(run({.op = FileOp::remove, .path = (scratch / "f") + std::string("\0.txt", 5)}).outcome.error,
            Errc::invalid);
  EXPECT_EQ(run({.op = FileOp::move, .path = scratch / "f", .target = ""}).outcome.error, Errc::invalid);
  EXPECT_TRUE(exists(scratch / "f"));
}

TEST(FileWrite, MakesAFileWithExactlyTheModeAskedFor) {
  const Scratch scratch;
  const std::string bytes = std::string("a\0b", 3) + std::string(300'000, 'z');
  ASSERT_TRUE(run({.op = FileOp::write, .path = scratch / "f", .mode = 0666}, bytes).ok());
  EXPECT_EQ(get(scratch / "f"), bytes);
  EXPECT_EQ(mode_of(scratch / "f"), 0666U);
  EXPECT_EQ(count(scratch.path()), 1U);
}

TEST(FileWrite, KeepsModeAndOwnerOfAFileThatExists) {
  const Scratch scratch;
  put(scratch / "f", "old");
  const uid_t owner = geteuid() == 0 ? 1234 : geteuid();
  ASSERT_EQ(chown((scratch / "f").c_str(), owner, getegid()), 0);
  ASSERT_EQ(chmod((scratch / "f").c_str(), 0640), 0);
  ASSERT_TRUE(run({.op = FileOp::write, .path = scratch / "f", .mode = 0777}, "new").ok());
  struct stat info;
  ASSERT_EQ(stat((scratch / "f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640U);
  EXPECT_EQ(info.st_uid, owner);
  EXPECT_EQ(get(scratch / "f"), "new");
}

TEST(FileWrite, ReplacesAtOnceSoThatAnOpenReaderKeepsTheOldBytes) {
  const Scratch scratch;
  put(scratch / "f", "old bytes");
  const UniqueFd reader(open((scratch / "f").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(run({.op = FileOp::write, .path = scratch / "f"}, "new").ok());
  EXPECT_EQ(bytes_of(reader.get()), "old bytes");
  EXPECT_EQ(get(scratch / "f"), "new");
}

TEST(FileWrite, LeavesEverythingAsItWasWhenStdinCannotBeRead) {
  const Scratch scratch;
  put(scratch / "f", "old");
  const UniqueFd bad(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const FileOutcome outcome = run_file_request(Ask{.op = FileOp::write, .path = scratch / "f"}, bad.get(), -1);
  EXPECT_EQ(outcome.error_text, "read stdin: Is a directory");
  EXPECT_EQ(get(scratch / "f"), "old");
  EXPECT_EQ(count(scratch.path()), 1U);
}

TEST(FileWrite, GoesThroughASymlinkAndLeavesItALink) {
  const Scratch scratch;
  ASSERT_EQ(
      shell("cd " + scratch.path() +
            "; mkdir a b; echo old > b/f; ln -s ../b/f a/one; ln -s one a/two; ln -s new a/dangling; ln -s loop loop"),
      0);
  ASSERT_TRUE(run({.op = FileOp::write, .path = scratch / "a/two"}, "through").ok());
  ASSERT_TRUE(run({.op = FileOp::write, .path = scratch / "a/dangling"}, "made").ok());
  EXPECT_EQ(get(scratch / "b/f"), "through");
  EXPECT_EQ(get(scratch / "a/new"), "made");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "a/one"));
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "a/two"));
  EXPECT_FALSE(run({.op = FileOp::write, .path = scratch / "loop"}, "x").ok());
}

TEST(FileWrite, WritesASpecialFileDirectly) {
  EXPECT_TRUE(run({.op = FileOp::write, .path = "/dev/null"}, "gone").ok());
  struct stat info;
  ASSERT_EQ(stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_EQ(run({.op = FileOp::write, .path = "/dev/full"}, "x").outcome.error_text,
            "write /dev/full: No space left on device");
}

TEST(FileWrite, RefusesADirectoryAndAMissingParent) {
  const Scratch scratch;
  EXPECT_EQ(run({.op = FileOp::write, .path = scratch.path()}, "x").outcome.error_text,
            "write " + scratch.path() + ": Is a directory");
  EXPECT_EQ(run({.op = FileOp::write, .path = scratch / "no/f"}, "x").outcome.error, Errc::not_found);
  EXPECT_FALSE(run({.op = FileOp::write, .path = scratch / "new/"}, "x").ok());
  EXPECT_EQ(count(scratch.path()), 0U);
}

TEST(FileWrite, WritesInPlaceWhereTheDirectoryMayNotBeChanged) {
  const Scratch scratch;
  put(scratch / "f", "a longer old text");
  ASSERT_EQ(shell("cd " + scratch.path() + "; chmod 666 f; chmod 555 ."), 0);
  const ino_t before = inode_of(scratch / "f");
  EXPECT_EQ(as_nobody([&] { return run({.op = FileOp::write, .path = scratch / "f"}, "new").outcome.error_text; }), "");
  EXPECT_EQ(as_nobody([&] { return run({.op = FileOp::write, .path = scratch / "g"}, "new").outcome.error_text; }),
            "write " + (scratch / "g") + ": Permission denied");
  EXPECT_EQ(get(scratch / "f"), "new");
  EXPECT_EQ(inode_of(scratch / "f"), before);
  ASSERT_EQ(shell("chmod 755 " + scratch.path()), 0);
}

TEST(FileWrite, RespectsAReadOnlyFileInAWritableDirectory) {
  const Scratch scratch;
  put(scratch / "f", "old");
  ASSERT_EQ(shell("cd " + scratch.path() + "; chmod 444 f; chmod 777 ."), 0);
  EXPECT_EQ(as_nobody([&] { return run({.op = FileOp::write, .path = scratch / "f"}, "new").outcome.error_text; }),
            "write " + (scratch / "f") + ": Permission denied");
  EXPECT_EQ(get(scratch / "f"), "old");
}

TEST(FileWrite, LeavesNothingWhenItIsKilledInTheMiddle) {
  const Scratch scratch;
  put(scratch / "f", "old");
  const UniqueFd probe(open(scratch.path().c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!probe) GTEST_SKIP() << "the file system has no files without names";
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[1]);
    (void)run_file_request(Ask{.op = FileOp::write, .path = scratch / "f"}, ends[0], -1);
    _exit(0);
  }
  close(ends[0]);
  // More than a pipe holds: when this is through, the writer has read and written some of it.
  EXPECT_TRUE(write_all(ends[1], std::string(1 << 20, 'x'), "feed"));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  close(ends[1]);
  EXPECT_EQ(get(scratch / "f"), "old");
  EXPECT_EQ(count(scratch.path()), 1U);
}

TEST(FileWrite, WritesAMountPointInPlace) {
  const Scratch scratch;
  put(scratch / "real", "the old text");
  put(scratch / "f", "");
  const pid_t pid = fork();
  if (pid == 0) {
    if (unshare(CLONE_NEWNS) < 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) _exit(77);
    if (mount((scratch / "real").c_str(), (scratch / "f").c_str(), nullptr, MS_BIND, nullptr) < 0) _exit(77);
    _exit(run({.op = FileOp::write, .path = scratch / "f"}, "new").ok() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(get(scratch / "real"), "new");
  EXPECT_EQ(get(scratch / "f"), "");
  EXPECT_EQ(count(scratch.path()), 2U);
}

TEST(FileStat, DescribesALinkAndNotItsTarget) {
  const Scratch scratch;
  put(scratch / "f", "12345");
  ASSERT_EQ(shell("cd " + scratch.path() + "; ln -s f l; chmod 4751 f; touch -d '1999-01-02 03:04:05.123456789 UTC' f"),
            0);
  const auto file = proto::decode<proto::FileInfo>(run({.op = FileOp::stat, .path = scratch / "f"}).output);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->name, scratch / "f");
  EXPECT_EQ(file->type, FileType::file);
  EXPECT_EQ(file->size, 5U);
  EXPECT_EQ(file->mode, 04751U);
  EXPECT_EQ(file->mtime_ns, 915246245123456789);
  const auto link = proto::decode<proto::FileInfo>(run({.op = FileOp::stat, .path = scratch / "l"}).output);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->type, FileType::symlink);
  EXPECT_EQ(link->link_target, "f");
  EXPECT_EQ(run({.op = FileOp::stat, .path = scratch / "x"}).outcome.error, Errc::not_found);
}

TEST(FileList, IsSortedByNameAndKnowsEveryType) {
  const Scratch scratch;
  ASSERT_EQ(
      shell("cd " + scratch.path() + "; mkdir b; echo x > c; ln -s c a; mkfifo d; touch .h \"$(printf 'n\\nl')\""), 0);
  const auto list = proto::decode<proto::FileList>(run({.op = FileOp::list, .path = scratch.path()}).output);
  ASSERT_TRUE(list);
  std::string seen;
  for (const auto& entry : list->entries) seen += entry.name + std::to_string(static_cast<int>(entry.type)) + " ";
  EXPECT_EQ(seen, ".h0 a2 b1 c0 d3 n\nl0 ");
  EXPECT_EQ(run({.op = FileOp::list, .path = scratch / "c"}).outcome.error_text,
            "list " + (scratch / "c") + ": Not a directory");
}

TEST(FileMkdir, MakesParentsAndAcceptsWhatIsThere) {
  const Scratch scratch;
  EXPECT_TRUE(run({.op = FileOp::mkdir, .path = scratch / "a//b/c/"}).ok());
  EXPECT_TRUE(run({.op = FileOp::mkdir, .path = scratch / "a/b/c"}).ok());
  EXPECT_TRUE(std::filesystem::is_directory(scratch / "a/b/c"));
  put(scratch / "f", "");
  EXPECT_EQ(run({.op = FileOp::mkdir, .path = scratch / "f/g"}).outcome.error_text,
            "make directory " + (scratch / "f") + ": File exists");
  EXPECT_TRUE(run({.op = FileOp::mkdir, .path = "/"}).ok());
}

TEST(FileRemove, TakesATreeAndNeverWhatALinkPointsTo) {
  const Scratch scratch;
  ASSERT_EQ(shell("cd " + scratch.path() +
                  "; mkdir -p keep t/a/b; echo x > keep/f; echo y > t/a/f; mkfifo t/p;"
                  "ln -s ../keep t/link; ln -s ../../../keep/f t/a/b/l; ln -s keep l"),
            0);
  EXPECT_TRUE(run({.op = FileOp::remove, .path = scratch / "t"}).ok());
  EXPECT_TRUE(run({.op = FileOp::remove, .path = scratch / "l///"}).ok());
  EXPECT_EQ(count(scratch.path()), 1U);
  EXPECT_EQ(get(scratch / "keep/f"), "x\n");
  EXPECT_EQ(run({.op = FileOp::remove, .path = scratch / "t"}).outcome.error, Errc::not_found);
}

TEST(FileRemove, RefusesWhatHasNoNameOfItsOwn) {
  const Scratch scratch;
  put(scratch / "f", "x");
  for (const std::string end : {"/.", "/x/..", "/./"}) {
    EXPECT_EQ(run({.op = FileOp::remove, .path = scratch.path() + end}).outcome.error, Errc::invalid) << end;
  }
  EXPECT_EQ(run({.op = FileOp::remove, .path = "//"}).outcome.error, Errc::invalid);
  EXPECT_EQ(get(scratch / "f"), "x");
}

TEST(FileRemove, TakesATreeOfTenThousandLevels) {
  const Scratch scratch(fast_base());
  make_deep(scratch / "deep", 10'000);
  const Ran ran = run({.op = FileOp::remove, .path = scratch / "deep"});
  EXPECT_EQ(ran.outcome.error_text.substr(0, 200), "");
  EXPECT_FALSE(exists(scratch / "deep"));
}

TEST(FileRemove, ReportsADirectoryItMayNotChangeAndTakesTheRest) {
  const Scratch scratch;
  ASSERT_EQ(shell("cd " + scratch.path() +
                  "; mkdir -p t/locked t/open; touch t/locked/f t/open/f; mkdir -m 0 t/shut;"
                  "[ $(id -u) -ne 0 ] || chown -R 65534 t; chmod 555 t/locked"),
            0);
  const std::string error =
      as_nobody([&] { return run({.op = FileOp::remove, .path = scratch / "t"}).outcome.error_text; });
  EXPECT_EQ(error, "remove " + (scratch / "t/locked/f") + ": Permission denied");
  EXPECT_TRUE(exists(scratch / "t/locked/f"));
  EXPECT_FALSE(exists(scratch / "t/open"));
  EXPECT_FALSE(exists(scratch / "t/shut"));
  ASSERT_EQ(shell("chmod 755 " + (scratch / "t/locked")), 0);
}

TEST(FileMove, RenamesAndReplaces) {
  const Scratch scratch;
  put(scratch / "a", "new");
  put(scratch / "b", "old");
  EXPECT_TRUE(run({.op = FileOp::move, .path = scratch / "a", .target = scratch / "b"}).ok());
  EXPECT_EQ(get(scratch / "b"), "new");
  EXPECT_FALSE(exists(scratch / "a"));
  EXPECT_EQ(run({.op = FileOp::move, .path = scratch / "a", .target = scratch / "c"}).outcome.error_text,
            "move " + (scratch / "a") + " to " + (scratch / "c") + ": No such file or directory");
}

bool other_file_system(const std::string& a, const std::string& b) {
  struct stat x, y;
  return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && x.st_dev != y.st_dev;
}

class FileMoveAcross : public testing::Test {
 protected:
  void SetUp() override {
    if (!other_file_system(here_.path(), there_.path())) GTEST_SKIP() << "/dev/shm is not a file system of its own";
  }
  Scratch here_, there_{"/dev/shm"};
};

TEST_F(FileMoveAcross, TakesATreeWithModesTimesAndLinks) {
  ASSERT_EQ(shell("cd " + here_.path() +
                  "; mkdir -p t/d/e; echo x > t/f; ln t/f t/hard; ln -s ../nowhere t/soft; mkfifo t/p;"
                  "chmod 755 t/f; [ $(id -u) -ne 0 ] || chmod 6755 t/f; chmod 1777 t/d; chmod 500 t/d/e; touch -hd "
                  "@1.25 t/soft t/p; touch -d @-5.5 t/f;"
                  "touch -d @7.125 t/d/e t/d"),
            0);
  const auto before = picture(here_ / "t");
  const Ran ran = run({.op = FileOp::move, .path = here_ / "t", .target = there_ / "moved"});
  EXPECT_EQ(ran.outcome.error_text, "");
  EXPECT_EQ(picture(there_ / "moved"), before);
  EXPECT_FALSE(exists(here_ / "t"));
  EXPECT_EQ(count(there_.path()), 1U);
}

TEST_F(FileMoveAcross, ReplacesAFileAndRefusesAFullDirectory) {
  put(here_ / "f", "new");
  put(there_ / "f", "old");
  EXPECT_TRUE(run({.op = FileOp::move, .path = here_ / "f", .target = there_ / "f"}).ok());
  EXPECT_EQ(get(there_ / "f"), "new");
  ASSERT_EQ(
      shell("mkdir " + (here_ / "d") + " " + (there_ / "d") + "; touch " + (here_ / "d/x") + " " + (there_ / "d/y")),
      0);
  const Ran ran = run({.op = FileOp::move, .path = here_ / "d", .target = there_ / "d"});
  EXPECT_EQ(ran.outcome.error, Errc::conflict);
  EXPECT_TRUE(exists(here_ / "d/x"));
  EXPECT_TRUE(exists(there_ / "d/y"));
  EXPECT_EQ(count(there_.path()), 2U);
}

TEST(SplitPath, GivesDirectoryAndName) {
  const auto joined = [](const std::string& path) { return split_path(path).directory + "|" + split_path(path).name; };
  EXPECT_EQ(joined("a"), ".|a");
  EXPECT_EQ(joined("/a"), "/|a");
  EXPECT_EQ(joined("a//b//"), "a|b");
  EXPECT_EQ(joined("//"), "/|");
  EXPECT_EQ(joined("/a/b"), "/a|b");
}

}  // namespace
}  // namespace cove::guest
