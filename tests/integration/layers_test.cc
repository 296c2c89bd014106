// Snapshots and forks, as their users make them.

#include "layers.h"

namespace {

constexpr const char* kState = "'cat /workspace/d/f; pwd; echo $X $E ${a[1]}; f; alias hi'";
constexpr const char* kStateThen = "one\n/workspace/d\n1 2 y\nfunc\nalias hi='echo hi'\n";

class Snapshots : public Layers {
 protected:
  void SetUp() override {
    Layers::SetUp();
    if (IsSkipped()) return;
    good(
        "cove create s && cove sh s 'mkdir d; echo one > d/f; X=1; export E=2; a=(x y); f() { echo func; };"
        " alias hi=\"echo hi\"; cd d' && cove sh --session other s 'Y=7; cd /usr; rm -f /usr/games/none'");
  }
  void spoil(const std::string& name) {
    good("cove sh " + name +
         " 'rm -r /workspace/d; X=9; E=9; unset -f f; unalias hi; cd /; echo new > /workspace/new'");
    good("cove sh --session other " + name + " 'Y=8; cd /'");
  }
  void expect_as_it_was(const std::string& name) {
    EXPECT_EQ(good("cove sh " + name + " " + kState), kStateThen);
    EXPECT_EQ(good("cove sh --session other " + name + " 'echo $Y; pwd; ls /workspace'"), "7\n/usr\nd\n");
  }
};

TEST_F(Snapshots, RestoreBringsFilesAndEverySessionBack) {
  EXPECT_EQ(good("cove snapshot s before"), "before\n");
  expect_as_it_was("s");
  spoil("s");
  EXPECT_EQ(good("cove restore s before"), "");
  expect_as_it_was("s");
  spoil("s");
  good("cove restore s before && cove restore s before");
  expect_as_it_was("s");
}

TEST_F(Snapshots, ASandboxMadeFromOneHasItsFilesAndSessionsAndGoesItsOwnWay) {
  good("cove snapshot s before");
  spoil("s");
  good("cove create --from before u");
  expect_as_it_was("u");
  good("cove sh u 'echo u > /workspace/d/f'");
  EXPECT_EQ(good("cove create --from before v >/dev/null; cove sh v 'cat f'"), "one\n");
  EXPECT_EQ(good("cove sh s 'ls /workspace'"), "new\n");
}

TEST_F(Snapshots, ASessionThatCameLaterIsEmptyAfterARestore) {
  good("cove snapshot s before && cove sh --session late s 'Z=1; cd /usr' && cove restore s before");
  EXPECT_EQ(good("cove sh --session late s 'echo [$Z]; pwd'"), "[]\n/workspace\n");
}

TEST_F(Snapshots, AreListedOldestFirstAndGoByName) {
  good("cove snapshot s b && cove snapshot s a");
  EXPECT_EQ(good("cove snapshots --json | grep -o '\"tag\": \"[^\"]*\"' | sort"), "\"tag\": \"a\"\n\"tag\": \"b\"\n");
  EXPECT_EQ(good("cove snapshot rm a b && cove snapshots --json | tr -d '[:space:]'"), "[]");
  const std::string made_up = good("cove snapshot s");
  EXPECT_EQ(made_up.substr(0, 2), "s-") << made_up;
}

// What is open stays open: bytes go where the file is, and are seen by whoever reads it.
TEST_F(Snapshots, ABackgroundProcessWithAnOpenLogGoesOnAndLosesNothing) {
  good(
      "cove sh s 'cd /; (exec 9>>/workspace/log; echo first >&9; for word in second third; do "
      "until [ -e /workspace/$word ]; do sleep 0.01; done; echo $word >&9; done) >/dev/null 2>&1 & "
      "until [ -s /workspace/log ]; do sleep 0.01; done'");
  good("cove snapshot s before");
  good(
      "cove sh s 'touch /workspace/second; timeout 120 bash -c \"until grep -q second /workspace/log; do sleep 0.01; "
      "done\"'");
  good("cove snapshot s later");
  good(
      "cove sh s 'touch /workspace/third; timeout 120 bash -c \"until grep -q third /workspace/log; do sleep 0.01; "
      "done\"'");
  EXPECT_EQ(good("cove sh s 'cat /workspace/log'"), "first\nsecond\nthird\n");
}

TEST_F(Snapshots, AJobThatWasStoppedStaysStoppedAndOthersGoOn) {
  good(
      "cove sh s 'sleep 1000 & echo $! > /tmp/stopped; kill -STOP $!; sleep 1000 & echo $! > /tmp/runs; "
      "until grep -q ^State:.T /proc/$(cat /tmp/stopped)/status; do sleep 0.01; done'");
  for (const std::string tag : {"one", "two"}) {
    good("cove sh s 'echo " + tag + " > /workspace/new' && cove snapshot s " + tag);
    // It has a state of its own until it is its turn.
    good("cove sh s 'until grep -q ^State:.S /proc/$(cat /tmp/runs)/status; do sleep 0.01; done'");
    EXPECT_EQ(good("cove sh s 'grep ^State: /proc/$(cat /tmp/stopped)/status' | cut -c8"), "T\n");
  }
}

TEST_F(Snapshots, APersistentSandboxIsAsItWasAlsoAfterAStop) {
  good(
      "cove create --persistent --from missing p 2>/dev/null; cove snapshot s before; "
      "cove create --persistent --from before p");
  expect_as_it_was("p");
  spoil("p");
  good(
      "cove snapshot rm before; cove snapshot p spoilt; cove sh p 'echo more > /workspace/more'; cove stop p; "
      "cove start p");
  EXPECT_EQ(good("cove sh p 'ls /workspace; echo $X; pwd'"), "more\nnew\n9\n/\n");
  good("cove restore p spoilt; cove stop p; cove start p");
  EXPECT_EQ(good("cove sh p 'ls /workspace; echo $X'"), "new\n9\n");
}

TEST_F(Snapshots, ForksHaveFilesAndSessionsAndAreIndependent) {
  const std::string names = good("cove fork s -n 3");
  EXPECT_EQ(std::count(names.begin(), names.end(), '\n'), 3);
  std::istringstream list(names);
  for (std::string name; std::getline(list, name);) {
    expect_as_it_was(name);
    good("cove sh " + name + " 'echo " + name + " > /workspace/d/f; X=" + name + "'");
  }
  expect_as_it_was("s");
  list = std::istringstream(names);
  for (std::string name; std::getline(list, name);)
    EXPECT_EQ(good("cove sh " + name + " 'cat f; echo $X'"), name + "\n" + name + "\n");
  EXPECT_EQ(good("cove snapshots --json | tr -d '[:space:]'"), "[]") << "a fork's own snapshot is nobody's business";
  EXPECT_EQ(names_in("snapshots"), std::set<std::string>{});
}

// `cove run` owns its sandbox, and whoever forks it is somebody else.
TEST_F(Layers, AForkOfASandboxThatHasAnOwnerStays) {
  good(
      "cove run -- 'echo one > f; until [ -e /workspace/end ]; do sleep 0.01; done' & "
      "until owned=$(cove ls --names) && cove sh --session o $owned 'until [ -e f ]; do sleep 0.01; done' 2>/dev/null; "
      "do sleep 0.01; done\n"
      "cove fork $owned > fork && cove sh --session o $owned 'touch end'; wait\n"
      "[ \"$(cove ls --names)\" = \"$(cat fork)\" ] && [ $(cove sh $(cat fork) 'cat f') = one ]");
}

TEST_F(Snapshots, AForkOutlivesWhatItWasForkedFrom) {
  const std::string fork = good("cove fork s | tr -d '\\n'");
  good("cove rm s && cove gc");
  expect_as_it_was(fork);
  good("cove snapshot " + fork + " again && cove rm " + fork + " && cove gc && cove create --from again w");
  expect_as_it_was("w");
  good("cove rm w && cove snapshot rm again");
  EXPECT_EQ(names_in("layers"), std::set<std::string>{});
}

TEST_F(Snapshots, LayersThatNobodyStandsOnAreGoneAndOthersStay) {
  good("cove snapshot s one && cove sh s 'echo 2 > /workspace/two' && cove snapshot s two");
  EXPECT_EQ(names_in("layers").size(), 2U);
  good("cove snapshot rm one && cove gc");
  EXPECT_EQ(names_in("layers").size(), 2U) << "the sandbox and snapshot two stand on both";
  good("cove rm s && cove gc");
  EXPECT_EQ(names_in("layers").size(), 2U) << "snapshot two stands on both";
  EXPECT_EQ(good("cove create --from two t >/dev/null; cove sh t 'cat /workspace/two f'"), "2\none\n");
  good("cove snapshot rm two");
  EXPECT_EQ(names_in("layers").size(), 2U) << "sandbox t stands on both";
  good("cove rm t");
  EXPECT_EQ(names_in("layers"), std::set<std::string>{});
}

TEST_F(Snapshots, ARemovedSandboxThatHadStoppedLeavesNoLayers) {
  good("cove create --persistent p && cove sh p 'echo x > x' && cove snapshot p one && cove stop p && cove rm p");
  EXPECT_EQ(names_in("layers").size(), 1U);
  good("cove snapshot rm one");
  EXPECT_EQ(names_in("layers"), std::set<std::string>{});
  good(
      "cove create --persistent p && cove sh p 'echo x > x' && cove snapshot p one && cove snapshot rm one && "
      "cove stop p && cove rm p");
  EXPECT_EQ(names_in("layers"), std::set<std::string>{});
}

// Forwarded values come from the caller, each time anew; not a byte of one is on disk.
TEST_F(Layers, AForwardedSecretIsTheCallersAndNeverOnDisk) {
  good("export TOKEN=hush-one; cove create --persistent --forward-env TOKEN s; cove sh s 'echo $TOKEN; Q=1'");
  good("cove snapshot s tag; cove stop s");
  EXPECT_EQ(run("grep -rl hush-one \"$COVE_HOME\"").out, "");
  EXPECT_EQ(good("TOKEN=hush-two cove start s >/dev/null; cove sh s 'echo $TOKEN $Q'"), "hush-two 1\n");
  const std::string fork = good("TOKEN=hush-three cove fork s | tr -d '\\n'");
  EXPECT_EQ(good("cove sh " + fork + " 'echo $TOKEN $Q'"), "hush-three 1\n");
  EXPECT_EQ(good("TOKEN=hush-four cove create --forward-env TOKEN --from tag u >/dev/null; cove sh u 'echo $TOKEN $Q'"),
            "hush-four 1\n");
  EXPECT_EQ(good("cove create --from tag v >/dev/null; cove sh v 'echo [$TOKEN] $Q'"), "[] 1\n");
  EXPECT_EQ(run("grep -rl hush- \"$COVE_HOME\"").out, "");
}

// Its files are being sealed while the next one's bytes are already on their way.
TEST_F(Layers, WhatIsSentToACommandThatHasToWaitArrives) {
  EXPECT_EQ(good("cove create --checkpoint t >/dev/null; for i in 1 2 3 4 5 6 7 8; do echo $i >f; "
                 "cove cp f t:/workspace/f$i || exit; done; cove sh t 'cat /workspace/f*'"),
            "1\n2\n3\n4\n5\n6\n7\n8\n");
}

TEST_F(Layers, WhatCannotBeDoneIsRefusedInOneSentence) {
  good("cove create s && cove sh s 'echo x > x' && cove snapshot s taken");
  refused("cove undo s", "cove checkpoint on s");
  refused("cove restore s nothing", "there is no snapshot 'nothing'; there are taken");
  refused("cove create --from nothing t", "there is no snapshot 'nothing'");
  refused("cove snapshot s 'Bad Tag'", "'Bad Tag' cannot name a snapshot");
  refused("cove snapshot s up/../..", "cannot name a snapshot");
  refused("cove snapshot s taken", "'cove snapshot rm taken' frees the name");
  refused("cove snapshot rm nothing", "there is no snapshot 'nothing'");
  refused("cove snapshot nobody tag", "nobody");
  refused("cove diff s --from nothing", "there is no snapshot 'nothing'");
  refused("cove diff s --command c77", "knows no command c77");
  refused("cove apply s", "--volume DIR:INSIDE:cow");
  refused("cove bisect s -- true", "cove history s");
  EXPECT_NE(run("cove fork s -n 0").code, 0);
  EXPECT_NE(run("cove undo s 0").code, 0);
  EXPECT_NE(run("cove snapshot s .hidden").code, 0);
  EXPECT_EQ(good("cove snapshots --json | grep -c tag"), "1\n");
  EXPECT_EQ(good("cove sh s 'cat x'"), "x\n") << "it still works";
}

TEST_F(Layers, FilesAreNotTakenBackUnderARunningCommand) {
  good("cove create --checkpoint s && cove sh s 'echo x > x' && cove snapshot s tag");
  good(
      "cove sh s --id long --background 'echo y > x; touch begun; until [ -e end ]; do sleep 0.01; done' >/dev/null; "
      "timeout 120 cove sh --session other s 'until [ -e begun ]; do sleep 0.01; done'");
  refused("cove restore s tag", "commands are running in sandbox s");
  refused("cove undo s", "commands are running in sandbox s");
  EXPECT_EQ(good("cove sh --session other s 'cat x; touch end'").substr(0, 2), "y\n");
}

TEST_F(Layers, SandboxesWithoutLayersSaySo) {
  good("cove create --disk 8m d && cove create --backend local l");
  for (const std::string verb :
       {"cove snapshot d x", "cove fork d", "cove checkpoint on d", "cove create --checkpoint --disk 8m e"})
    refused(verb, "--disk");
  for (const std::string verb :
       {"cove snapshot l x", "cove fork l", "cove checkpoint on l", "cove create --checkpoint --backend local m"})
    refused(verb, "--backend native");
  refused("cove diff l", "backend local");
  refused("cove apply l", "backend local");
  EXPECT_EQ(good("cove sh d 'echo on'; cove sh l 'echo on'"), "on\non\n");
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cove::testing_helpers::become_test_user();
  cove::testing_helpers::home();
  return RUN_ALL_TESTS();
}
