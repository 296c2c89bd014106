#include "os/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace cove::os {
namespace {

const Deadline kSoon = Deadline::after(std::chrono::minutes(1));

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) == 0) read.reset(ends[0]), write.reset(ends[1]);
  }
  UniqueFd read, write;
};

std::string read_to_end(int fd) {
  std::string all;
  std::array<char, 4096> piece{};
  for (ssize_t n = 0; (n = ::read(fd, piece.data(), piece.size())) > 0;) all.append(piece.data(), n);
  return all;
}

ExecSpec shell(const std::string& script) { return {.argv = {"sh", "-c", script}, .env = {"PATH=/usr/bin:/bin"}}; }

// Runs it with `out` as its standard output and gives back what it wrote.
std::string output_of(ExecSpec spec) {
  Pipe out;
  spec.fds.push_back({.from = out.write.get(), .as = 1});
  auto child = Child::spawn(spec);
  if (!child) return "error: " + child.error().text();
  out.write.reset();
  std::string all = read_to_end(out.read.get());
  EXPECT_TRUE(child->wait(kSoon));
  return all;
}

std::string error_of(const ExecSpec& spec) {
  auto child = Child::spawn(spec);
  return child ? "it started" : child.error().text();
}

bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }

class ScratchDir {
 public:
  ScratchDir() {
    std::string name = std::filesystem::temp_directory_path() / "cove-os-test-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~ScratchDir() { std::filesystem::remove_all(path_); }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST(Child, TellsTheExitCode) {
  for (const int code : {0, 1, 42, 255}) {
    auto child = Child::spawn(shell("exit " + std::to_string(code)));
    ASSERT_TRUE(child);
    const auto status = child->wait(kSoon);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, code);
    EXPECT_EQ(status->signal, 0);
    EXPECT_EQ(status->text(), "exited with " + std::to_string(code));
    EXPECT_FALSE(child->running());
  }
}

TEST(Child, TellsTheSignalThatEndedIt) {
  auto child = Child::spawn(shell("kill -TERM $$"));
  const auto status = child->wait(kSoon);
  EXPECT_EQ(status->signal, SIGTERM);
  EXPECT_EQ(status->code, 128 + SIGTERM);
  EXPECT_EQ(status->text(), "was killed by signal 15");
}

TEST(Child, RunsUntilItIsSignalled) {
  auto child = Child::spawn(shell("exec sleep 1000"));
  EXPECT_FALSE(child->poll());
  EXPECT_EQ(child->wait(Deadline::after(std::chrono::milliseconds(1))).error().code, Errc::timeout);
  EXPECT_TRUE(child->running());
  ASSERT_TRUE(child->signal(SIGKILL));
  EXPECT_EQ(child->wait(kSoon)->signal, SIGKILL);
  EXPECT_EQ(child->poll()->signal, SIGKILL);
  EXPECT_EQ(child->signal(SIGTERM).error().code, Errc::not_found);
}

TEST(Child, ItsPidfdIsReadableWhenItHasEnded) {
  auto child = Child::spawn(shell("exit 3"));
  pollfd wait{child->pidfd(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 60'000), 1);
  EXPECT_EQ(child->poll()->code, 3);
}

TEST(Child, DestroyingARunningOneKillsAndReapsIt) {
  pid_t pid = -1;
  {
    auto child = Child::spawn(shell("trap '' TERM; exec sleep 1000"));
    pid = child->pid();
    EXPECT_TRUE(exists(pid));
  }
  EXPECT_FALSE(exists(pid));
}

TEST(Child, AssigningOverARunningOneReapsItAndKeepsTheNew) {
  auto child = Child::spawn(shell("exec sleep 1000"));
  const pid_t old = child->pid();
  *child = *Child::spawn(shell("exit 5"));
  EXPECT_FALSE(exists(old));
  EXPECT_EQ(child->wait(kSoon)->code, 5);
}

TEST(Child, ADisownedOneLivesOn) {
  pid_t pid = -1;
  {
    auto child = Child::spawn(shell("exec sleep 1000"));
    pid = child->pid();
    child->disown();
    EXPECT_EQ(child->wait(kSoon).error().code, Errc::invalid);
  }
  EXPECT_TRUE(exists(pid));
  ::kill(pid, SIGKILL);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

TEST(Child, AStatusThatSomebodyElseTookIsAnErrorNotAnEndlessWait) {
  auto child = Child::spawn(shell("exit 3"));
  EXPECT_EQ(waitpid(child->pid(), nullptr, 0), child->pid());
  EXPECT_EQ(child->wait(kSoon).error().code, Errc::internal);
}

TEST(Child, FollowsTheThreadThatStartedIt) {
  Pipe alive;  // open for as long as the child lives
  const pid_t parent = fork();
  if (parent == 0) {
    ExecSpec spec = shell("echo started; exec sleep 1000");
    spec.fds.push_back({.from = alive.write.get(), .as = 1});
    spec.parent_death_signal = SIGKILL;
    const auto child = Child::spawn(spec);
    while (true) pause();
  }
  alive.write.reset();
  char byte = 0;
  EXPECT_EQ(::read(alive.read.get(), &byte, 1), 1);
  ::kill(parent, SIGKILL);
  EXPECT_EQ(waitpid(parent, nullptr, 0), parent);
  EXPECT_EQ(read_to_end(alive.read.get()), "tarted\n");
}

TEST(Child, FailureNamesTheStepAndItsObject) {
  ScratchDir scratch;
  std::ofstream(scratch.path("plain")) << "text\n";
  EXPECT_EQ(error_of({}), "invalid: spawn: no program given");
  EXPECT_EQ(error_of({.argv = {"no-such-program"}}), "not found: run no-such-program: No such file or directory");
  EXPECT_EQ(error_of({.program = "/nope", .argv = {"x"}}), "not found: run /nope: No such file or directory");
  EXPECT_EQ(error_of({.argv = {scratch.path("plain")}}),
            "denied: run " + scratch.path("plain") + ": Permission denied");
  EXPECT_EQ(error_of({.argv = {"true"}, .cwd = "/no/such"}),
            "not found: enter directory /no/such: No such file or directory");
  EXPECT_EQ(error_of({.argv = {"true"}, .fds = {{.from = -1, .as = 5}}}),
            "invalid: arrange descriptors for true: Bad file descriptor");
}

TEST(Child, AProgramThatMayNotBeRunIsPassedOverInThePath) {
  ScratchDir scratch;
  std::ofstream(scratch.path("sh")) << "#!/bin/false\n";
  ExecSpec spec = shell("echo found");
  spec.env = {"PATH=" + scratch.path("missing") + ":" + scratch.path("") + ":/usr/bin:/bin"};
  EXPECT_EQ(output_of(spec), "found\n");
  spec.env = {"PATH=" + scratch.path("")};
  EXPECT_EQ(error_of(spec), "denied: run sh: Permission denied");
}

TEST(Child, GetsExactlyTheEnvironmentItWasGiven) {
  EXPECT_EQ(output_of({.argv = {"/usr/bin/env"}, .env = {"A=1", "B=x y"}}), "A=1\nB=x y\n");
}

TEST(Child, StartsInItsDirectory) {
  ExecSpec spec = shell("pwd");
  spec.cwd = "/usr";
  EXPECT_EQ(output_of(spec), "/usr\n");
}

TEST(Child, FallsBackToTheNearestDirectoryThatExistsOnlyWhenAsked) {
  ExecSpec spec = shell("pwd");
  spec.cwd = "/usr/no/such/directory";
  EXPECT_NE(error_of(spec).find("enter directory /usr/no/such/directory"), std::string::npos);
  spec.nearest_cwd = true;
  EXPECT_EQ(output_of(spec), "/usr\n");
  spec.cwd = "/nope";
  EXPECT_EQ(output_of(spec), "/\n");
}

// The numbers of the descriptors that a child sees, without the one that lists them.
std::string descriptors_of(ExecSpec spec) {
  spec.argv = {"sh", "-c", "cd /proc/self/fd && for f in *; do [ -e $f ] && echo $f; done"};
  spec.env = {"PATH=/usr/bin:/bin"};
  return output_of(spec);
}

TEST(Child, InheritsNothingButItsGiftsAndTheStandardDescriptors) {
  const UniqueFd leak(open("/dev/null", O_RDONLY)), far(fcntl(leak.get(), F_DUPFD, 300));
  EXPECT_EQ(descriptors_of({}), "0\n1\n2\n");
  EXPECT_EQ(descriptors_of({.fds = {{.from = leak.get(), .as = 7}, {.from = far.get(), .as = 3}}}), "0\n1\n2\n3\n7\n");
  EXPECT_EQ(descriptors_of({.fds = {{.from = leak.get(), .as = 310}}}), "0\n1\n2\n310\n");
}

TEST(Child, GiftsMayTakeEachOthersNumbers) {
  Pipe first, second;
  const int a = first.write.get(), b = second.write.get();
  ExecSpec spec = shell("echo to-a >&" + std::to_string(a) + "; echo to-b >&" + std::to_string(b));
  spec.fds = {{.from = a, .as = b}, {.from = b, .as = a}};
  auto child = Child::spawn(spec);
  ASSERT_TRUE(child) << child.error().text();
  EXPECT_EQ(child->wait(kSoon)->code, 0);
  first.write.reset(), second.write.reset();
  EXPECT_EQ(read_to_end(first.read.get()), "to-b\n");
  EXPECT_EQ(read_to_end(second.read.get()), "to-a\n");
}

TEST(Child, OneDescriptorMayBeGivenTwice) {
  Pipe out;
  ExecSpec spec = shell("echo out; echo err >&2");
  spec.fds = {{.from = out.write.get(), .as = 1}, {.from = out.write.get(), .as = 2}};
  auto child = Child::spawn(spec);
  EXPECT_EQ(child->wait(kSoon)->code, 0);
  out.write.reset();
  EXPECT_EQ(read_to_end(out.read.get()), "out\nerr\n");
}

TEST(Child, StartsWithDefaultSignals) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  const std::string status = output_of({.argv = {"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}});
  std::signal(SIGPIPE, old);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Child, MayLeadASessionOfItsOwn) {
  ExecSpec spec = shell("set -- $(cat /proc/$$/stat); echo $(( $5 == $$ )) $(( $6 == $$ ))");
  spec.new_session = true;
  EXPECT_EQ(output_of(spec), "1 1\n");
  spec.new_session = false;
  EXPECT_EQ(output_of(spec), "0 0\n");
}

TEST(Child, TakesTheUmaskItIsGiven) {
  ExecSpec spec = shell("umask");
  spec.umask = 027;
  EXPECT_EQ(output_of(spec), "0027\n");
}

TEST(Child, SwitchesUserAndDropsTheGroups) {
  ExecSpec spec{.argv = {"/bin/grep", "-E", "^(Uid|Gid|Groups)", "/proc/self/status"}};
  spec.switch_user = true;
  spec.uid = spec.gid = 65534;
  if (geteuid() != 0) {
    EXPECT_NE(error_of(spec).find("switch to user id 65534"), std::string::npos);
    return;
  }
  EXPECT_EQ(output_of(spec), "Uid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\nGroups:\t \n");
}

}  // namespace
}  // namespace cove::os
