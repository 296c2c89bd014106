// The CLI with the backend that it chooses by itself, and what only that has.

#include "cli.h"

namespace {

class CliNative : public Cli {
 protected:
  void SetUp() override {
    unsetenv("COVE_BACKEND");
    const Ran doctor = run("cove doctor native");
    if (doctor.out.find("not usable") != std::string::npos) GTEST_SKIP() << doctor.out;
  }
};

TEST_F(CliNative, AutoIsNativeAndItsRootIsNotOurs) {
  const Ran ran = run("touch ours; cove run -- \"id -u; pwd; test -e $PWD/ours || echo not here\"");
  EXPECT_EQ(ran.out, "0\n/workspace\nnot here\n") << ran.err;
}

TEST_F(CliNative, AutoNeverMeansLocal) {
  const Ran ran =
      run("cove create --require fs-read --require pid a && cove inspect a | grep -c '\"native\"\\|native'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(run("cove run --require moon -- true").code, 125);
}

TEST_F(CliNative, FilesAndSessionsOfAPersistentSandboxOutliveAStop) {
  EXPECT_EQ(run("cove create --persistent p && cove sh p 'echo x > kept; X=7; echo t > /tmp/t' && cove stop p").code,
            0);
  const Ran ran = run("cove start p >/dev/null && cove sh p 'cat kept; echo $X; ls /tmp | wc -l'");
  EXPECT_EQ(ran.out, "x\n7\n0\n") << ran.err;
}

TEST_F(CliNative, AVolumeIsSharedAndAReadOnlyOneIsNot) {
  const Ran ran =
      run("echo host > f; cove run --volume $PWD:/v -- 'cat /v/f; echo in > /v/g' && cat g && "
          "cove run --volume $PWD:/v:ro -- 'echo no > /v/h' 2>&1; ls");
  EXPECT_NE(ran.out.find("host\nin\n"), std::string::npos) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("Read-only file system"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("h\n", ran.out.size() - 2), std::string::npos) << ran.out;
}

TEST_F(CliNative, ADirectoryAsImageIsRootsInsideAndStaysAsItIsOutside) {
  ASSERT_EQ(
      run("mkdir -p image/bin image/etc && cp $(command -v busybox) image/bin/sh && echo old > image/etc/word").code,
      0);
  const Ran ran =
      run("cove create --checkpoint --image $PWD/image t >/dev/null && cove sh t 'echo new > /etc/word; echo > "
          "/etc/made' && "
          "cove exec t -- sh -c '[ -O /etc ] && [ -O /etc/word ] && while read w; do echo $w; done < /etc/word' && "
          "cove undo t 2 && cove exec t -- sh -c '[ -O /etc/word ] && while read w; do echo $w; done < /etc/word'; "
          "cat image/etc/word; ls image/etc");
  EXPECT_EQ(ran.out, "new\nold\nold\nword\n") << ran.err;
}

TEST_F(CliNative, AVolumeThroughASymlinkIsRefused) {
  const Ran ran = run("mkdir real; ln -s real link; cove run --volume $PWD/link:/v -- true");
  EXPECT_EQ(ran.code, 125);
  EXPECT_NE(ran.err.find("symlink"), std::string::npos) << ran.err;
}

TEST_F(CliNative, OutOfMemoryIsToldWithTheLimit) {
  const Ran probe = run("cove doctor native");
  if (probe.out.find("limit:memory") == std::string::npos) GTEST_SKIP() << "no memory limit here: " << probe.out;
  const Ran ran = run("cove create --memory 64m m && cove sh m --json 'exec head -c 500M /dev/zero | tail'");
  EXPECT_NE(ran.out.find("\"outcome\": \"oom\""), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("64 MiB"), std::string::npos) << ran.out;
}

TEST_F(CliNative, TheDiskLimitHolds) {
  const Ran ran = run("cove run --disk 8m -- 'head -c 20M /dev/zero > big' 2>&1");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("No space left"), std::string::npos) << ran.out;
}

// Nothing of a disk that is a file: no loop device, no mount.
constexpr const char* kNoTrace =
    "until ! grep -qs \"$COVE_HOME\" /sys/block/loop*/loop/backing_file; do sleep 0.01; done\n"
    "! grep \"$COVE_HOME\" /proc/mounts\n";

TEST_F(CliNative, ALimitedDiskThatIsKeptIsFullAtItsLimitAndThereAgainAfterAStop) {
  if (geteuid() != 0) GTEST_SKIP() << "it takes root, and is refused otherwise";
  if (access("/dev/loop-control", R_OK | W_OK) < 0) GTEST_SKIP() << "there are no loop devices";
  const Ran full =
      run("cove create --persistent --disk 32m p && cove sh p 'head -c 64M /dev/zero >big' 2>&1\n"
          "cove sh p 'stat -c %s big; rm big; echo x >kept; echo x >/usr/kept; echo t >/tmp/t; mount' && cove stop p");
  EXPECT_NE(full.out.find("No space left"), std::string::npos) << full.out << full.err;
  EXPECT_EQ(full.code, 0) << full.err;
  const long size = std::atol(full.out.substr(full.out.find("device\n") + 7).c_str());
  EXPECT_GT(size, 20L << 20) << full.out;
  EXPECT_LT(size, 32L << 20) << full.out;
  EXPECT_EQ(run("grep -s \"$COVE_HOME\" /sys/block/loop*/loop/backing_file; grep \"$COVE_HOME\" /proc/mounts").out, "");
  const Ran again = run("cove start p >/dev/null && cove sh p 'cat kept /usr/kept; ls /tmp | wc -l'");
  EXPECT_EQ(again.out, "x\nx\n0\n") << again.err;
}

TEST_F(CliNative, ALimitedDiskOutlivesAKilledKeeperAndIsGoneWithItsSandbox) {
  if (geteuid() != 0) GTEST_SKIP() << "it takes root, and is refused otherwise";
  if (access("/dev/loop-control", R_OK | W_OK) < 0) GTEST_SKIP() << "there are no loop devices";
  const Ran killed =
      run("cove create --persistent --disk 32m p && cove sh p 'echo x >kept; sync; (sleep 99 &)' && "
          "kill -9 $(cat $COVE_HOME/sandboxes/p/lock) && cove start p && cove sh p 'cat kept'");
  EXPECT_EQ(killed.out, "p\np\nx\n") << killed.err;
  const Ran left = run("kill -9 $(cat $COVE_HOME/sandboxes/p/lock)\n" + std::string(kNoTrace) +
                       "cove rm p && find $COVE_HOME/sandboxes -mindepth 1");
  EXPECT_EQ(left.code, 0) << left.err;
  EXPECT_EQ(left.out, "") << left.err;
}

TEST_F(CliNative, ALimitedDiskThatIsKeptTakesRoot) {
  if (geteuid() != 0) {
    EXPECT_NE(run("cove create --persistent --disk 32m p").err.find("run cove as root"), std::string::npos);
    return;
  }
  std::filesystem::permissions(directory_, std::filesystem::perms(0755));
  const Ran ran = run(R"sh(
    cp "$(command -v cove)" "$(command -v cove-guest)" . && mkdir home && chown nobody home
    setpriv --reuid nobody --regid nogroup --clear-groups env HOME=$PWD/home COVE_HOME=$PWD/home/cove ./cove \
      create --backend native --persistent --disk 32m p; echo $?; find home/cove/sandboxes -mindepth 1)sh");
  EXPECT_EQ(ran.out, "125\n") << ran.err;
  EXPECT_NE(ran.err.find("run cove as root"), std::string::npos) << ran.err;
}

TEST_F(CliNative, SysIsThereOnRequestReadOnlyAndWithTheSandboxsOwnNetwork) {
  EXPECT_NE(run("cove run -- 'ls /sys/class'").code, 0);
  const Ran ran = run(
      "cove run --sys -- 'ls /sys/class/net; ls -A /sys/firmware | wc -l; echo x >/sys/kernel/mm/x || echo refused; "
      "grep -c \" /sys sysfs ro,\" /proc/mounts' 2>/dev/null");
  EXPECT_EQ(ran.out, "lo\n0\nrefused\n1\n") << ran.err;
  const Ran host = run("cove run --sys --net host -- 'ls /sys/class/net'; ls /sys/class/net");
  if (geteuid() == 0)
    EXPECT_EQ(host.out.substr(0, host.out.size() / 2), host.out.substr(host.out.size() / 2)) << host.err;
  else
    EXPECT_NE(host.err.find("--sys with --net host"), std::string::npos) << host.err;
}

// dash gives up at the first process that it may not have.
TEST_F(CliNative, AFullLimitOnProcessesKeepsNobodyFromStartingACommand) {
  const Ran ran = run(
      "cove create --pids 24 b && cove sh b \"dash -c 'while :; do sleep 99 & done'\" 2>&1 | grep -o 'Cannot fork'\n"
      "for i in 1 2 3; do cove sh b 'echo here'; done\n"
      "cove sh b 'ulimit -u'\n"
      "cove sh b 'exec pkill -9 sleep'; cove sh b 'ls /proc/self/exe'");
  EXPECT_EQ(ran.out, "b\nCannot fork\nhere\nhere\nhere\n24\n/proc/self/exe\n") << ran.err;
}

TEST_F(CliNative, AnInterruptedCreateLeavesNoSandbox) {
  const Ran ran = run(
      // One that was ready before the signal came shows nothing, and another one is made.
      "for i in $(seq 20); do cove create --prove a >/dev/null & "
      "until test -S $COVE_HOME/sandboxes/a/sock; do sleep 0.001; done; kill -TERM $!; wait $!; code=$?\n"
      "[ $code = 0 ] || break; cove rm a; done; echo $code\n"
      "for i in $(seq 5000); do test -z \"$(ls -A $COVE_HOME/sandboxes)\" && break; sleep 0.02; done; "
      "find $COVE_HOME/sandboxes -mindepth 1");
  EXPECT_EQ(ran.out, "130\n") << ran.err;
}

// In a mount namespace of the test's own, where the lists of ranges say what it needs.
TEST_F(CliNative, AUserWithoutRootHasTheUsersOfTheirRangeInside) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give another user a range";
  std::filesystem::permissions(directory_, std::filesystem::perms(0755));
  const Ran ran = run(R"sh(
    cp "$(command -v cove)" "$(command -v cove-guest)" . && mkdir home && chown nobody home && echo nobody:300000:65536 >ranges
    unshare -m bash -c '
      mount --make-rprivate / && mount --bind ranges /etc/subuid && mount --bind ranges /etc/subgid &&
      exec setpriv --reuid nobody --regid nogroup --clear-groups env HOME=$PWD/home COVE_HOME=$PWD/home/cove ./cove \
        run --backend native -- "tail -n 1 /proc/self/uid_map; touch f; chown 1000:1000 f; stat -c %u:%g f"
    ' && find home/cove/sandboxes -mindepth 1)sh");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "         1     300000      65536\n1000:1000\n") << ran.err;
}

TEST_F(CliNative, AFailureForWantOfANetworkGetsAHint) {
  const Ran ran = run("cove run -- '</dev/tcp/192.0.2.1/80'");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("--net full"), std::string::npos) << ran.err;
  EXPECT_EQ(run("cove run --net host -- 'echo Could not resolve host; exit 6'").err, "");
}

TEST_F(CliNative, ProveTriesTheWallsFirstAndKeepsItsReport) {
  const Ran held = run("cove create --prove a && cove sh a 'ls -A' && cove inspect --json a");
  EXPECT_EQ(held.code, 0) << held.err;
  EXPECT_EQ(held.out.substr(0, 3), "a\n{") << held.out;  // nothing of it is left inside
  EXPECT_NE(held.out.find("\"proof\":{\"attempts\":[{"), std::string::npos) << held.out;
  EXPECT_NE(run("cove inspect a | grep proof").out.find("walls held, none broke"), std::string::npos);
  const Ran broken = run("cove run --prove --backend local -- 'echo ran'");
  EXPECT_EQ(broken.code, 125);
  EXPECT_EQ(broken.out, "");
  EXPECT_NE(broken.err.find("does not hold"), std::string::npos) << broken.err;
}

TEST_F(CliNative, WhatAKilledKeeperLeftIsFoundAndCleared) {
  const Ran limits = run("cove doctor native");
  if (limits.out.find("limit:pids=cgroup") == std::string::npos) GTEST_SKIP() << "no control groups: " << limits.out;
  EXPECT_EQ(run("cove create --pids 50 k && kill -9 $(cat $COVE_HOME/sandboxes/k/lock)").code, 0);
  const std::string until_found = "until cove ls --leftovers | grep .; do sleep 0.02; done\n";
  EXPECT_EQ(run(until_found + "cove gc").out, "cgroup k\ncgroup k\n");
  EXPECT_EQ(run("cove ls --leftovers").out, "");
  EXPECT_EQ(run("cove rm k; cove create --pids 50 k && kill -9 $(cat $COVE_HOME/sandboxes/k/lock)").code, 0);
  EXPECT_EQ(run(until_found + "cove ls >/dev/null; cove ls --leftovers").out, "cgroup k\n");
}

}  // namespace
