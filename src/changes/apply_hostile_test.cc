#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "changes/apply.h"
#include "changes/apply_plan.h"
#include "changes/beneath.h"
#include "changes/test_trees.h"

namespace cove::changes {
namespace {

// No overlay is mounted: upper_ is whatever a sandbox could have left.
class ApplyHostile : public Trees {
 protected:
  void SetUp() override {
    Trees::SetUp();
    options_.base = {.tv_sec = std::time(nullptr) + 3600, .tv_nsec = 0};  // nothing is a conflict
  }
  Applied apply_now() {
    auto applied = apply(upper_, host_, options_);
    EXPECT_TRUE(applied) << applied.error().text();
    return applied ? *applied : Applied{};
  }
  static std::vector<std::string> refused(const Applied& applied) {
    std::vector<std::string> all;
    for (const auto& objection : applied.refused) all.push_back(objection.path);
    return all;
  }
  using Lines = std::vector<std::string>;
  ApplyOptions options_;
};

TEST_F(ApplyHostile, ALinkOnTheHostIsReplacedNotFollowed) {
  write_text(base_ + "/outside/f", "outside");
  fs::create_directory_symlink(base_ + "/outside", host_ + "/d");
  fs::create_symlink(base_ + "/outside/f", host_ + "/link");
  write_text(upper_ + "/d/f", "inside");
  write_text(upper_ + "/d/new", "inside");
  write_text(upper_ + "/link", "inside");
  EXPECT_TRUE(apply_now().wrote);
  EXPECT_EQ(read_text(base_ + "/outside/f"), "outside");
  EXPECT_FALSE(fs::exists(base_ + "/outside/new"));
  EXPECT_FALSE(fs::is_symlink(host_ + "/d"));
  EXPECT_EQ(read_text(host_ + "/d/f"), "inside");
  EXPECT_EQ(read_text(host_ + "/link"), "inside");
}

TEST_F(ApplyHostile, ALinkInsideDoesNotBringTheHostsFiles) {
  write_text(base_ + "/outside/secret", "secret");
  fs::create_directory_symlink(base_ + "/outside", upper_ + "/d");
  fs::create_symlink(base_ + "/outside/secret", upper_ + "/f");
  EXPECT_EQ(refused(apply_now()), (Lines{"d", "f"}));
  EXPECT_TRUE(fs::is_empty(host_));
}

TEST_F(ApplyHostile, LinksThatMayLeadOutAreRefusedUnlessAsked) {
  for (const char* bad : {"/etc/passwd", "..", "../x", "a/../../x", "a/..", "./../x"})
    EXPECT_TRUE(leads_out(bad, 0)) << bad;
  for (const char* good : {"a", "a/b", "./a", ".", "a..", "..."}) EXPECT_FALSE(leads_out(good, 0)) << good;
  EXPECT_FALSE(leads_out("../x", 1));
  EXPECT_FALSE(leads_out("../../x/y", 2));
  EXPECT_TRUE(leads_out("../../x", 1));
  fs::create_directory(upper_ + "/d");
  fs::create_symlink("../fine", upper_ + "/d/fine");
  fs::create_symlink("../../out", upper_ + "/d/out");
  fs::create_symlink("/etc/passwd", upper_ + "/absolute");
  EXPECT_EQ(refused(apply_now()), (Lines{"absolute", "d/out"}));
  EXPECT_TRUE(fs::is_symlink(host_ + "/d/fine"));
  options_.links = true;
  EXPECT_EQ(refused(apply_now()), Lines{});
  EXPECT_EQ(fs::read_symlink(host_ + "/absolute"), "/etc/passwd");
}

TEST_F(ApplyHostile, SpecialFilesAreRefused) {
  ASSERT_EQ(mkfifo((upper_ + "/fifo").c_str(), 0600), 0);
  const int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  std::strncpy(address.sun_path, (upper_ + "/socket").c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(socket_fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(socket_fd);
  Lines expected{"fifo", "socket"};
  if (mknod((upper_ + "/device").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0)
    expected.insert(expected.begin(), "device");
  EXPECT_EQ(refused(apply_now()), expected);
  EXPECT_TRUE(fs::is_empty(host_));
}

TEST_F(ApplyHostile, SetuidBitsAndOverlayMarksStayInside) {
  write_text(upper_ + "/tool", "x", 06755);
  ASSERT_EQ(setxattr((upper_ + "/tool").c_str(), "user.overlay.nlink", "U+1", 3, 0), 0);
  ASSERT_EQ(setxattr((upper_ + "/tool").c_str(), "user.note", "x", 1, 0), 0);
  opaque(upper_ + "/d");
  ASSERT_EQ(chmod((upper_ + "/d").c_str(), 02755), 0);
  EXPECT_EQ(refused(apply_now()), (Lines{"d", "tool"}));
  struct stat info{};
  ASSERT_EQ(stat((host_ + "/tool").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0755U);
  EXPECT_EQ(listxattr((host_ + "/tool").c_str(), nullptr, 0), 0);
  ASSERT_EQ(stat((host_ + "/d").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0755U);
  EXPECT_LT(getxattr((host_ + "/d").c_str(), "user.overlay.opaque", nullptr, 0), 0);
}

TEST_F(ApplyHostile, WhatIsWrittenAsideHasAReservedNameAndLeftoversGo) {
  write_text(upper_ + "/.cove-apply-1/0", "x");
  write_text(upper_ + "/f", "x");
  write_text(host_ + "/.cove-apply-99/0", "left by an apply that was killed");
  EXPECT_EQ(refused(apply_now()), Lines{".cove-apply-1"});
  EXPECT_EQ(std::distance(fs::directory_iterator(host_), {}), 1);
}

TEST_F(ApplyHostile, TwoAtATimeAreRefused) {
  const UniqueFd host(open(host_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(host.get(), LOCK_EX), 0);
  const auto applied = apply(upper_, host_, options_);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Errc::busy);
}

TEST_F(ApplyHostile, PathsThatAreTooDeepAreRefused) {
  UniqueFd at(open(upper_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name(200, 'd');
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0755), 0);
    at.reset(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  EXPECT_EQ(apply_now().refused.size(), 1U);
}

TEST_F(ApplyHostile, AHugeSparseFileIsRefused) {
  write_text(upper_ + "/huge", "");
  options_.most_bytes = 1 << 20;
  ASSERT_EQ(truncate((upper_ + "/huge").c_str(), 2 << 20), 0);
  EXPECT_EQ(refused(apply_now()), Lines{"huge"});
}

TEST_F(ApplyHostile, AFullDiskLeavesTheHostAsItWas) {
  write_text(upper_ + "/a", "new");
  write_text(upper_ + "/b", std::string(200'000, 'x'));
  whiteout(upper_ + "/c");
  const std::string answer = in_namespace([&]() -> std::string {
    if (mount("small", host_.c_str(), "tmpfs", 0, "size=64k") < 0) return "no tmpfs";
    std::ofstream(host_ + "/a") << "old";
    std::ofstream(host_ + "/c") << "old";
    const Tree before = tree_of(host_);
    const auto applied = apply(upper_, host_, options_);
    if (applied) return "it worked";
    return tree_of(host_) == before ? applied.error().text() : "the host has changed";
  });
  if (answer == "no tmpfs" || answer.starts_with("error: unshare")) GTEST_SKIP() << answer;
  EXPECT_TRUE(answer.starts_with("busy: apply to ")) << answer;
  EXPECT_NE(answer.find("where nothing was changed: write b aside"), std::string::npos) << answer;
}

TEST_F(ApplyHostile, AnotherFileSystemBelowTheDirectoryIsNotEntered) {
  fs::create_directory(host_ + "/mounted");
  write_text(upper_ + "/mounted/f", "new");
  const std::string answer = in_namespace([&]() -> std::string {
    if (mount("small", (host_ + "/mounted").c_str(), "tmpfs", 0, "size=64k") < 0) return "no tmpfs";
    const auto applied = apply(upper_, host_, options_);
    if (!applied) return applied.error().text();
    if (!fs::is_empty(host_ + "/mounted")) return "it was entered";
    return applied->refused.size() == 1 ? applied->refused[0].reason : "it was not refused";
  });
  if (answer == "no tmpfs" || answer.starts_with("error: unshare")) GTEST_SKIP() << answer;
  EXPECT_EQ(answer, "another file system is mounted there");
}

// As on a kernel before 5.6, or below a filter that does not know the call.
void forbid_openat2() {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = 4, .filter = code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
    throw std::system_error(errno, std::generic_category(), "seccomp");
}

TEST_F(ApplyHostile, WithoutOpenat2NothingIsFollowedEither) {
  write_text(base_ + "/outside/f", "outside");
  fs::create_directory(host_ + "/mounted");
  fs::create_directory_symlink(base_ + "/outside", host_ + "/link");
  write_text(host_ + "/a/b/c/f", "old");
  write_text(upper_ + "/a/b/c/f", "new");
  write_text(upper_ + "/mounted/f", "new");
  const std::string answer = in_namespace([&]() -> std::string {
    if (mount("small", (host_ + "/mounted").c_str(), "tmpfs", 0, "size=64k") < 0) return "no tmpfs";
    forbid_openat2();
    const auto applied = apply(upper_, host_, options_);
    if (!applied) return applied.error().text();
    if (applied->refused.size() != 1 || applied->refused[0].path != "mounted") return "mounted was not refused";
    const UniqueFd root(open(host_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (open_beneath(root.get(), "link/f", O_RDONLY) || open_beneath(root.get(), "link", O_RDONLY)) return "followed";
    if (open_beneath(root.get(), "a/../a", O_RDONLY) || open_beneath(root.get(), "/etc", O_RDONLY)) return "left";
    return "fine";
  });
  if (answer == "no tmpfs" || answer.starts_with("error: ")) GTEST_SKIP() << answer;
  EXPECT_EQ(answer, "fine");
  EXPECT_EQ(read_text(host_ + "/a/b/c/f"), "new");
}

// Killed at some moment, wherever that is: each file is the old one or the new one.
TEST_F(ApplyHostile, AnInterruptionLeavesWholeFilesOnly) {
  const std::string old_text(100'000, 'o'), new_text(100'000, 'n');
  for (int i = 0; i < 40; ++i) {
    write_text(host_ + "/" + std::to_string(i), old_text);
    write_text(upper_ + "/" + std::to_string(i), new_text);
  }
  for (const int microseconds : {200, 1000, 3000, 6000, 10'000, 20'000}) {
    const pid_t child = fork();
    if (child == 0) {
      (void)!apply(upper_, host_, options_);
      _exit(0);
    }
    timespec wait{.tv_sec = 0, .tv_nsec = microseconds * 1000L};
    nanosleep(&wait, nullptr);  // any moment is right
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    for (int i = 0; i < 40; ++i) {
      const std::string text = read_text(host_ + "/" + std::to_string(i));
      ASSERT_TRUE(text == old_text || text == new_text) << i;
    }
  }
  EXPECT_TRUE(apply(upper_, host_, options_));
  EXPECT_EQ(read_text(host_ + "/39"), new_text);
  EXPECT_EQ(std::distance(fs::directory_iterator(host_), {}), 40);
}

TEST_F(ApplyHostile, WhatWasStoredIsReadStrictly) {
  for (const char* bad : {"", "{}", "[1]", "[{\"path\":\"%zz\"}]", "[{\"path\":\"a\",\"ino\":\"x\"}]"})
    EXPECT_FALSE(written_from_json(bad)) << bad;
  const std::vector<Written> one{{.path = "a b%\xff\n", .ino = 7, .size = 8, .mtime = {1, 2}, .ctime = {3, 4}}};
  const auto back = written_from_json(to_json(one));
  ASSERT_TRUE(back);
  EXPECT_EQ((*back)[0].path, one[0].path);
  EXPECT_EQ((*back)[0].ctime.tv_nsec, 4);
}

}  // namespace
}  // namespace cove::changes
