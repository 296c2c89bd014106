// Machines: what only a kernel of its own has to show, and what is left of it.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "backend/native/network.h"
#include "client/cove.h"
#include "client/sandbox_pool.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "helpers/program.h"
#include "os/net.h"

namespace cove {
namespace {

using namespace std::chrono_literals;
using namespace testing_helpers;

SandboxSpec small() {
  SandboxSpec spec = make_spec();
  spec.memory_bytes = std::uint64_t{256} << 20;
  return spec;
}

Sandbox create(const SandboxSpec& spec) {
  auto made = Sandbox::create(spec, {.deadline = Deadline::after(5min)});
  if (!made) throw std::runtime_error(made.error().text());
  return std::move(*made);
}

Completed run(Sandbox& sandbox, const CommandSpec& command) {
  auto done = sandbox.collect(command, {}, {.deadline = Deadline::after(5min)});
  if (!done) {
    ADD_FAILURE() << done.error().text();
    return {};
  }
  return std::move(*done);
}

std::string sh(Sandbox& sandbox, const std::string& script) { return run(sandbox, {.script = script}).output; }

pid_t qemu_of(const Sandbox& sandbox) {
  const std::string lock = slurp(home().path() + "/sandboxes/" + sandbox.name() + "/lock");
  const auto children = children_of(static_cast<pid_t>(std::atoi(lock.c_str())));
  return children.empty() ? 0 : children.front();
}

// One for all that do not harm it: the first of its kind, which boots; later ones go on from its memory.
Sandbox& shared() {
  static Sandbox one = create(small());
  return one;
}

TEST(Microvm, HasAKernelOfItsOwn) {
  utsname host{};
  uname(&host);
  const std::string release = sh(shared(), "uname -r");
  EXPECT_NE(release, std::string(host.release) + "\n");
  EXPECT_NE(release.find("cloud"), std::string::npos) << release;
  EXPECT_EQ(sh(shared(), "hostname"), shared().name() + "\n");
}

TEST(Microvm, HasTheMemoryAndProcessorsThatWereAskedFor) {
  const long kib = std::atol(sh(shared(), "awk '/MemTotal/ {print $2}' /proc/meminfo").c_str());
  EXPECT_LT(kib, 256 * 1024);
  EXPECT_GT(kib, 200 * 1024);
  EXPECT_EQ(sh(shared(), "grep -c ^processor /proc/cpuinfo"), "1\n");
}

TEST(Microvm, FilesBelongToThoseThatTheImageSays) {
  EXPECT_EQ(sh(shared(), "stat -c '%u:%g %a' /bin/bash /home/user /tmp"), "0:0 755\n1000:1000 755\n0:0 1777\n");
  EXPECT_EQ(sh(shared(), "touch /usr/new && rm /usr/bin/mawk && ls /usr/new; ls /usr/bin/mawk 2>&1 | wc -l"),
            "/usr/new\n1\n");
}

TEST(Microvm, HasNoNetworkButItsOwnLoopback) { EXPECT_EQ(sh(shared(), "ls /sys/class/net"), "lo\n"); }

// The second one goes on from memory that the first one has saved: of all that was in it nothing may be said twice.
TEST(Microvm, MachinesFromOneMemoryShareNeitherRandomNumbersNorNames) {
  shared();
  Sandbox a = create(small()), b = create(small());
  const std::string script =
      "head -c 16 /dev/urandom | od -An -tx1; cat /etc/machine-id /proc/sys/kernel/random/boot_id; echo "
      "$RANDOM$RANDOM; "
      "mktemp -u";
  const std::string of_a = sh(a, script), of_b = sh(b, script), of_first = sh(shared(), script);
  std::istringstream lines_a(of_a), lines_b(of_b), lines_first(of_first);
  int count = 0;
  for (std::string x, y, z; std::getline(lines_a, x) && std::getline(lines_b, y) && std::getline(lines_first, z);
       ++count) {
    EXPECT_NE(x, y);
    EXPECT_NE(x, z);
  }
  EXPECT_EQ(count, 5) << of_a;
  EXPECT_EQ(sh(a, "hostname"), a.name() + "\n");
  // What the first one does is not seen by others.
  sh(shared(), "echo secret >/root/mine");
  EXPECT_EQ(sh(a, "ls /root"), "");
}

// The first shell waits in that memory, too, and is told for whom it is when the machine has gone on.
TEST(Microvm, AShellThatWasThereBeforeItsSessionKnowsAllOfIt) {
  shared();
  SandboxSpec spec = small();
  std::erase_if(spec.env, [](const auto& entry) { return entry.first == "LC_CTYPE"; });
  set_env(spec, "A", "it's \"q\" $x\n\\two");
  spec.cwd = "/var";
  Sandbox one = create(spec);
  EXPECT_EQ(sh(one, "echo \"$A\"; pwd; echo ${OLDPWD-none} ${LC_CTYPE-none} $SHLVL $((SECONDS < 60))"),
            "it's \"q\" $x\n\\two\n/var\nnone none 1 1\n");
  EXPECT_EQ(sh(one, "env | grep -cE '^(LC_CTYPE|__cove)'; exit 0"), "0\n");
}

void expect_right_time(Sandbox& sandbox) {
  const auto before = static_cast<long>(time(nullptr));
  const long inside = std::atol(sh(sandbox, "date +%s").c_str());
  EXPECT_GE(inside, before - 3);
  EXPECT_LE(inside, static_cast<long>(time(nullptr)) + 3);
}

TEST(Microvm, TheTimeIsRightAfterMemoryWasRestored) {
  shared();
  Sandbox one = create(small());
  expect_right_time(one);
}

TEST(Microvm, ACounterContinuesAfterAPauseWithTheRightTime) {
  Sandbox one = create(small());
  const auto id =
      one.start({.script = "i=0; while :; do i=$((i+1)); echo $$ $i >count.new; mv count.new count; sleep .05; done"});
  ASSERT_TRUE(id);
  const auto count = [&] {
    std::pair<int, int> now{0, 0};
    const auto text = one.read_file("/workspace/count");
    if (text) std::sscanf(text->c_str(), "%d %d", &now.first, &now.second);
    return now;
  };
  ASSERT_TRUE(eventually([&] { return count().second > 3; }));
  const auto before = count();
  ASSERT_TRUE(one.pause());
  EXPECT_FALSE(one.start({.script = "true"}));
  ASSERT_TRUE(one.resume());
  ASSERT_TRUE(eventually([&] { return count().second > before.second + 3; }));
  EXPECT_EQ(count().first, before.first);
  expect_right_time(one);
  ASSERT_TRUE(one.signal(*id, {.signal = 9}));
}

// Its disk goes along, and neither needs the snapshot any more that it was made from.
TEST(Microvm, AForkOfAForkHasTheDiskAndAnIdentityOfItsOwn) {
  SandboxSpec spec = small();
  spec.disk_bytes = std::uint64_t{128} << 20;
  Sandbox first = create(spec);
  EXPECT_EQ(sh(first, "echo kept >/root/kept; X=5"), "");
  auto forks = first.fork(1, {.deadline = Deadline::after(5min)}, Saved::memory);
  ASSERT_TRUE(forks) << forks.error().text();
  EXPECT_EQ(sh(forks->at(0), "echo more >>/root/kept; sync"), "");
  auto again = forks->at(0).fork(1, {.deadline = Deadline::after(5min)}, Saved::memory);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(sh(again->at(0), "cat /root/kept; echo $X; hostname"), "kept\nmore\n5\n" + again->at(0).name() + "\n");
  EXPECT_EQ(sh(first, "cat /root/kept"), "kept\n");
  const std::string script = "head -c 16 /dev/urandom | od -An -tx1; cat /etc/machine-id";
  EXPECT_NE(sh(again->at(0), script), sh(forks->at(0), script));
}

TEST(Microvm, AKernelPanicIsToldAndHurtsNobodyElse) {
  Sandbox one = create(small());
  const auto done =
      one.collect({.script = "echo c >/proc/sysrq-trigger; sleep 999"}, {}, {.deadline = Deadline::after(5min)});
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->outcome.ending, Ending::lost);
  EXPECT_NE(done->outcome.detail.find("panicked"), std::string::npos) << done->outcome.detail;
  EXPECT_EQ(sh(shared(), "echo alive"), "alive\n");
}

TEST(Microvm, RunningOutOfMemoryIsToldAndTheMachineGoesOn) {
  Sandbox one = create(small());
  const Completed done = run(one, {.script = "head -c 2000000000 /dev/zero | tail -c 1000000000 >/dev/null"});
  EXPECT_EQ(done.outcome.ending, Ending::oom) << done.outcome.exit_code << " " << done.output;
  EXPECT_EQ(sh(one, "echo alive"), "alive\n");
}

TEST(Microvm, AForkBombEndsWithItsTimeAndTheMachineGoesOn) {
  Sandbox one = create(small());
  const Completed done = run(one, {.script = "b() { b | b & }; b; sleep 999", .timeout = 3s});
  EXPECT_EQ(done.outcome.ending, Ending::timeout);
  EXPECT_EQ(sh(one, "echo alive"), "alive\n");
  EXPECT_EQ(sh(shared(), "echo alive"), "alive\n");
}

TEST(Microvm, QemuIsNobodyInAnEmptyPlace) {
  const pid_t qemu = qemu_of(shared());
  ASSERT_GT(qemu, 0);
  const std::string proc = "/proc/" + std::to_string(qemu);
  const std::string status = slurp(proc + "/status");
  EXPECT_NE(status.find("CapEff:\t0000000000000000"), std::string::npos) << status;
  EXPECT_NE(status.find("CapBnd:\t0000000000000000"), std::string::npos);
  EXPECT_NE(status.find("NoNewPrivs:\t1"), std::string::npos);
  EXPECT_NE(status.find("Seccomp:\t2"), std::string::npos);
  struct stat info{};
  ASSERT_EQ(stat(proc.c_str(), &info), 0);
  if (geteuid() == 0) {
    EXPECT_GE(info.st_uid, 0x70000000U);
  }
  std::string seen;
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/root/etc")) seen += entry.path().filename();
  EXPECT_EQ(seen, "ld.so.cache");
  EXPECT_FALSE(std::filesystem::exists(proc + "/root/home"));
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    EXPECT_NE(std::filesystem::read_symlink(proc + "/ns/" + kind),
              std::filesystem::read_symlink(std::string("/proc/self/ns/") + kind));
  }
}

TEST(Microvm, DeathOfTheKeeperIsTheEndOfTheMachine) {
  Sandbox one = create(small());
  const pid_t qemu = qemu_of(one);
  ASSERT_GT(qemu, 0);
  const std::string lock = slurp(home().path() + "/sandboxes/" + one.name() + "/lock");
  ASSERT_EQ(kill(static_cast<pid_t>(std::atoi(lock.c_str())), SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return !alive(qemu); }));
  EXPECT_EQ(run_cove({"rm", "--force", one.name()}).code, 0);
  EXPECT_EQ(run_cove({"gc"}).code, 0);  // its control group
}

TEST(Microvm, FilesOnADiskSurviveAStop) {
  SandboxSpec spec = small();
  spec.persistent = true;
  spec.owned = false;
  spec.disk_bytes = std::uint64_t{256} << 20;
  {
    Sandbox one = create(spec);
    EXPECT_EQ(sh(one, "echo kept >/root/kept; X=5; export X; df -m / | awk 'NR == 2 {print ($2 > 180 && $2 < 256)}'"),
              "1\n");
    ASSERT_EQ(run_cove({"stop", spec.name}).code, 0);
  }
  auto again = Sandbox::restart(spec.name, {.deadline = Deadline::after(5min)});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(sh(*again, "cat /root/kept; echo $X"), "kept\n5\n");
  EXPECT_TRUE(Sandbox::remove(spec.name));
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(Microvm, AVolumeIsCopiedInAndWhatChangedComesBackWhenAskedForAndAtTheEnd) {
  namespace fs = std::filesystem;
  const std::string host = home().make_directory("volume"), other = home().make_directory("read");
  fs::create_directories(host + "/below/gone");
  for (const char* name : {"/same", "/both", "/below/changed", "/below/gone/file"}) write_text(host + name, "before\n");
  write_text(other + "/file", "before\n");
  struct stat before{}, after{};
  ASSERT_EQ(stat((host + "/same").c_str(), &before), 0);
  {
    SandboxSpec spec = small();
    spec.volumes = {host + ":/workspace", other + ":/mnt/other:ro"};
    Sandbox one = create(spec);
    EXPECT_EQ(sh(one, "cat same /mnt/other/file; touch /mnt/other/new 2>/dev/null || echo refused"),
              "before\nbefore\nrefused\n");
    EXPECT_EQ(sh(one,
                 "echo after | tee both >below/changed; rm -r below/gone; mkdir -m 700 new; echo new | tee new/more "
                 ">new/file; "
                 "ln -s /etc/passwd out; chmod 4755 same"),
              "");
    write_text(host + "/both", "meanwhile\n");
    const auto saved = one.fork(1, {}, Saved::memory);
    EXPECT_EQ(saved.error().code, Errc::unsupported);
    EXPECT_EQ(slurp(host + "/below/changed"), "before\n");
    const Done synced = run_cove({"sync", one.name()});
    EXPECT_EQ(synced.code, 1);
    EXPECT_NE(synced.err.find("not brought: both: "), std::string::npos) << synced.err;
    EXPECT_NE(synced.err.find("not brought: out: "), std::string::npos) << synced.err;
    EXPECT_EQ(slurp(host + "/below/changed"), "after\n");
    EXPECT_EQ(slurp(host + "/new/more"), "new\n");
    EXPECT_EQ(sh(one, "echo again >>below/changed; rm new/more"), "");
  }
  EXPECT_EQ(slurp(host + "/below/changed"), "after\nagain\n");
  EXPECT_FALSE(fs::exists(host + "/new/more"));
  EXPECT_EQ(slurp(host + "/both"), "meanwhile\n");  // never overwritten
  EXPECT_EQ(slurp(host + "/new/file"), "new\n");
  EXPECT_FALSE(fs::exists(host + "/below/gone"));
  EXPECT_FALSE(fs::is_symlink(host + "/out"));
  EXPECT_EQ(slurp(other + "/file"), "before\n");
  ASSERT_EQ(stat((host + "/same").c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & S_ISUID, 0U);
}

TEST(Microvm, OneIsReadyBeforeItIsNeeded) {
  shared();
  SandboxSpec spec = small();
  spec.name.clear();
  SandboxPool pool(spec, 1);
  ASSERT_TRUE(eventually([&] { return pool.ready() == 1; }));
  auto one = pool.take({.deadline = Deadline::after(5min)});
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(sh(*one, "hostname"), one->name() + "\n");
}

// Somebody to connect to, on all addresses of this machine.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{.sin_family = AF_INET};
    socklen_t size = sizeof(any);
    if (bind(socket_.get(), reinterpret_cast<sockaddr*>(&any), size) == 0 && listen(socket_.get(), 8) == 0 &&
        getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&any), &size) == 0)
      port_ = std::to_string(ntohs(any.sin_port));
  }
  const std::string& port() const { return port_; }

 private:
  UniqueFd socket_;
  std::string port_;
};

std::string own_address() {
  const auto all = os::own_ipv4_networks();
  for (const os::Ipv4Net& one : all ? *all : std::vector<os::Ipv4Net>()) {
    if (one.address >> 24 != 127) return os::Ipv4Net{one.address, 32}.text();
  }
  return "";
}

TEST(Microvm, ANetworkLeadsOutAndNotToThisMachine) {
  const std::string address = own_address();
  if (address.empty()) GTEST_SKIP() << "this machine has no address but its loopback";
  if (const auto program = native::probe_network(); !program) GTEST_SKIP() << program.error().message;
  const Listener listener;
  const std::string port = "/" + listener.port();
  const auto reached = [&](Sandbox& one, const std::string& where) {
    const std::string seconds = where == address ? "60" : "10";
    return sh(one, "timeout " + seconds + " bash -c 'exec 3<>/dev/tcp/" + where + port +
                       "' 2>/dev/null && echo yes || echo no");
  };
  SandboxSpec spec = small();
  spec.net = "full,private";
  Sandbox open = create(spec);
  EXPECT_EQ(reached(open, address), "yes\n");
  EXPECT_EQ(reached(open, "10.0.2.2"), "no\n");  // this machine's loopback, if QEMU were not in a network of its own
  auto forks = open.fork(1, {.deadline = Deadline::after(5min)}, Saved::memory);
  ASSERT_TRUE(forks) << forks.error().text();
  EXPECT_EQ(reached(forks->at(0), address), "yes\n");
  EXPECT_NE(sh(open, "cat /sys/class/net/eth0/address"), sh(forks->at(0), "cat /sys/class/net/eth0/address"));
  spec = small();
  spec.net = "full";
  Sandbox walled = create(spec);
  for (const std::string& where : {address, std::string("10.0.2.2"), std::string("192.168.1.1")})
    EXPECT_EQ(reached(walled, where), "no\n") << where;
}

TEST(Microvm, WhatItCannotHonourIsRefusedWithAWayOut) {
  SandboxSpec spec = small();
  spec.net = "host";
  const auto host = Sandbox::create(spec);
  ASSERT_FALSE(host);
  EXPECT_NE(host.error().message.find("native"), std::string::npos) << host.error().message;
  spec = small();
  spec.memory_bytes = 1 << 20;
  EXPECT_EQ(Sandbox::create(spec).error().code, Errc::unsupported);
  spec = small();
  const std::string large = home().make_directory("large");
  write_text(large + "/file", std::string(200 << 20, 'x'));
  spec.volumes = {large + ":/mnt/large"};
  const auto full = Sandbox::create(spec);
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().message.find("--memory"), std::string::npos) << full.error().message;
  std::filesystem::remove_all(large);
  spec = small();
  spec.set_option("kernel", "/etc/hostname");
  const auto kernel = Sandbox::create(spec);
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().message.find("/etc/hostname"), std::string::npos) << kernel.error().message;
}

}  // namespace
}  // namespace cove

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cove::testing_helpers::home();
  const int code = RUN_ALL_TESTS();
  return code;
}
