// Checkpoints: undo, history, the diff of one command, bisect.

#include "layers.h"

namespace {

class Checkpoints : public Layers {
 protected:
  void SetUp() override {
    Layers::SetUp();
    if (IsSkipped()) return;
    make_project();
    good("cove create --checkpoint --volume $PWD/project:/workspace:cow t");
  }
};

TEST_F(Checkpoints, UndoTakesFilesAndSessionBack) {
  good("cove sh t 'echo 1 > f; X=1; cd src' && cove sh t 'echo 2 > ../f; X=2; cd ..' && cove sh t 'rm -r docs; X=3'");
  good("cove undo t");
  EXPECT_EQ(good("cove sh t 'ls docs | wc -l; cat f; echo $X; pwd'"), "4\n2\n2\n/workspace\n");
  good("cove undo t 2");  // the look at it, and the second
  EXPECT_EQ(good("cove sh t 'cat ../f; echo $X; pwd'"), "1\n1\n/workspace/src\n");
  good("cove undo t 2");
  EXPECT_EQ(good("cove sh t 'ls; echo [$X]; pwd'"), "docs\nsrc\ntest.sh\n[]\n/workspace\n");
  refused("cove undo t 2", "there are 1 commands to undo in sandbox t, not 2");
  EXPECT_EQ(good("cd project && git status --porcelain"), "");
}

TEST_F(Checkpoints, WhatWasUndoneCanBeDoneAgain) {
  for (int i = 0; i < 3; ++i) {
    good("cove sh t 'echo again >> f; mkdir -p deep/er; mv docs/long deep/er/' && cove undo t");
    EXPECT_EQ(good("cove sh t 'ls'; cove undo t"), "docs\nsrc\ntest.sh\n");
  }
  good("cove sh t 'echo again >> f'");
  EXPECT_EQ(good("cove sh t 'cat f'"), "again\n");
}

TEST_F(Checkpoints, HistoryTellsOutcomeTimeAndFiles) {
  good(
      "cove sh t 'echo 1 > a; echo 2 > b; rm test.sh'; cove sh t --id looked 'cat a' ; cove sh t 'echo 3 > c; exit 3'; "
      "true");
  const std::string table = good("cove history t");
  EXPECT_NE(table.find("exit 3"), std::string::npos) << table;
  EXPECT_NE(table.find("echo 1 > a; echo 2 > b; rm test.sh"), std::string::npos) << table;
  EXPECT_EQ(good("cove history t --json | grep changed_files | tr -dc '0-9\\n'"), "3\n0\n1\n");
  EXPECT_EQ(good("cove diff t --command looked"), "");
  const std::string id = good("cove history t --json | grep '\"id\"' | head -1 | cut -d'\"' -f4 | tr -d '\\n'");
  EXPECT_EQ(good("cove diff t --command " + id + " --names"), "A workspace/a\nA workspace/b\nD workspace/test.sh\n");
}

TEST_F(Checkpoints, OfAPersistentSandboxOutliveAStopAndAKill) {
  good(
      "cove create --persistent --checkpoint p && cove sh p 'echo 1 > f; X=1' && cove sh p 'echo 2 > f; X=2; cd /usr' "
      "&& "
      "cove sh p --id third 'echo 3 > /workspace/f; X=3' && cove stop p && cove start p");
  EXPECT_EQ(good("cove history p --json | grep -c changed_files; cove diff p --command third --names"),
            "3\nM workspace/f\n");
  good("cove undo p");
  EXPECT_EQ(good("cove sh p 'cat /workspace/f; echo $X; pwd'"), "2\n2\n/usr\n");
  good("kill -9 $(cat $COVE_HOME/sandboxes/p/lock); cove start p; cove sh p 'echo 4 > /workspace/f; X=4'");
  good("cove undo p 3");  // the fourth, the look, the second
  EXPECT_EQ(good("cove sh p 'cat /workspace/f; echo $X; pwd'"), "1\n1\n/workspace\n");
  good("cove undo p 2 && cove stop p && cove start p");
  EXPECT_EQ(good("cove sh p 'ls /workspace; echo [$X]'; cove history p --json | grep -c changed_files"), "[]\n1\n");
}

// What changed beside all commands is nobody's: it is not taken for the next one's.
TEST_F(Checkpoints, WhatChangedBeforeAStopIsNotTheNextCommandsDoing) {
  good(
      "cove create --persistent --checkpoint p && cove sh p 'echo 1 > f; "
      "(trap \"echo bye > /workspace/bye; exit\" TERM; touch ready; while :; do sleep 0.01; done) >/dev/null 2>&1 & "
      "until [ -e ready ]; do sleep 0.01; done' && cove stop p && cove start p && cove sh p --id next 'echo 2 > g'");
  EXPECT_EQ(good("cove diff p --command next --names"), "A workspace/g\n");
  EXPECT_EQ(good("cove undo p; cove sh p 'cat f; ls'").substr(0, 2), "1\n");
}

TEST_F(Checkpoints, CanBeginAndEndLater) {
  good("cove create u && cove sh u 'echo before > f' && cove checkpoint on u && cove sh u 'echo after > f'");
  good("cove undo u");
  EXPECT_EQ(good("cove sh u 'cat f'"), "before\n");
  good("cove checkpoint off u && cove sh u 'echo off > f'");
  refused("cove undo u", "keeps no checkpoints");
  EXPECT_EQ(good("cove sh u 'cat f'"), "off\n");
}

TEST_F(Checkpoints, BisectFindsTheCommandThatBrokeTheTest) {
  good(
      "for i in 1 2 3 4 5; do cove sh t \"echo $i > docs/n$i\"; done; cove sh t --id bad 'sed -i s/+/-/ src/lib.sh'; "
      "for i in 6 7 8 9; do cove sh t \"echo $i > docs/n$i\"; done");
  const std::string found = good("cove bisect t -- sh test.sh");
  EXPECT_NE(found.find("since command bad: sed"), std::string::npos) << found;
  EXPECT_EQ(good("cove bisect t --json -- sh test.sh | grep -o '\"id\":\"[a-z0-9]*\"'"), "\"id\":\"bad\"\n");
  refused("cove bisect t -- true", "does not fail");
  refused("cove bisect t -- false", "fails after each");
  EXPECT_EQ(good("cove ls --names"), "t\n") << "the trials are gone";
  EXPECT_EQ(good("cove sh t 'ls docs | wc -l'"), "13\n") << "and the sandbox is as it was";
}

TEST_F(Checkpoints, BisectFindsItAlsoWhenTheTestCameWithACommand) {
  good(
      "cove sh t 'echo 1 > docs/n1'; cove sh t 'cp test.sh late.sh'; cove sh t 'echo 2 > docs/n2'; "
      "cove sh t --id bad 'sed -i s/+/-/ src/lib.sh'; cove sh t 'echo 3 > docs/n3'");
  EXPECT_NE(good("cove bisect t -- sh late.sh").find("since command bad:"), std::string::npos);
}

TEST_F(Checkpoints, BisectTriesWithTheSandboxesOwnVariables) {
  good(
      "export TOKEN=hush; cove create --checkpoint -e GIVEN=yes --forward-env TOKEN e && cove sh e 'echo 1 > f' && "
      "cove sh e --id bad 'echo 2 > f' && cove sh e 'echo 3 > g'");
  const std::string test = "'[ \"$GIVEN$TOKEN\" != yeshush ] || [ $(cat f) = 1 ]'";
  EXPECT_NE(good("TOKEN=hush cove bisect e -- " + test).find("since command bad:"), std::string::npos);
  EXPECT_EQ(names_in("snapshots"), std::set<std::string>{}) << "nothing of it stays";
}

// One bash for all, so that most of the time is the keeper's.
TEST_F(Checkpoints, ThreeHundredCommandsAreMergedUndoneAndTold) {
  good(
      "for i in $(seq 300); do cove sh t --id n$i \"echo $i > last; echo $i > n$i; X=$i; "
      "[ $((i % 7)) = 0 ] && rm n$((i - 3)); true\" || exit 1; done");
  const auto expected = [](int last) {
    std::set<int> there;
    for (int i = 1; i <= last; ++i) {
      there.insert(i);
      if (i % 7 == 0) there.erase(i - 3);
    }
    std::string text = std::to_string(last) + "\n" + std::to_string(last) + "\n";
    for (const int i : there) text += std::to_string(i) + "\n";
    return text;
  };
  const std::string look = "cove sh t 'cat last; echo $X; cat $(ls -d n[0-9]* | sort -V)'";
  EXPECT_EQ(good(look), expected(300));
  EXPECT_EQ(good("cove diff t --command n63 --names; cove diff t --command n200 --names"),
            "M workspace/last\nD workspace/n60\nA workspace/n63\nM workspace/last\nA workspace/n200\n");
  const std::string lowers = good("cove sh t 'grep -o lowerdir.*  /proc/self/mountinfo | tr -cd \":\\n\" | wc -L'");
  EXPECT_LT(std::stoi(lowers), 96) << "layers of one mount";
  good("cove undo t 3");  // the last two looks change nothing, but are commands; with n300
  EXPECT_EQ(good("cove sh t 'cat last; echo $X'; cove undo t"), "299\n299\n");
  good("cove undo t 136");
  EXPECT_EQ(good(look), expected(163));
  EXPECT_EQ(good("cove diff t --command n63 --names"), "M workspace/last\nD workspace/n60\nA workspace/n63\n");
  good("cove sh t 'echo on > last'");
  EXPECT_EQ(good("cove fork t > fork; cove sh $(cat fork) 'cat last n163; ls n164'; cove rm $(cat fork)  || true"),
            "on\n163\n");
  // The keeper's only child is the guest, once what it does beside is done.
  good(
      "t() { cat /proc/$(cat $COVE_HOME/sandboxes/t/lock)/task/*/children | wc -w; }; "
      "for i in $(seq 2000); do cove sh t true; [ $(t) = 1 ] && exit 0; sleep 0.02; done; exit 1");
  good("cove rm t");
  EXPECT_EQ(names_in("layers"), std::set<std::string>{});
}

}  // namespace
