// diff and apply, on a copy of a real project.

#include "layers.h"

namespace {

class Changes : public Layers {
 protected:
  void SetUp() override {
    Layers::SetUp();
    if (IsSkipped()) return;
    make_project();
    good("cp -a project original && cove create --volume $PWD/project:/workspace:cow t");
  }
  // Every kind of change.
  void change(const std::string& name = "t") {
    good("cove sh " + name + R"sh( '
      sed -i "s/+/-/" src/lib.sh; sed -i "7d;30s/.*/thirty/" docs/long; printf " any more" >> docs/short
      printf "\0\3" > docs/binary; mkdir new; echo new > new/file; rm test.sh; printf "echo ok\n" > test.sh
      chmod 700 docs/short; rm docs/link; ln -s short docs/link; echo "a b" > "new/with space"')sh");
  }
  std::string state_of(const std::string& directory) {
    return good("cd " + directory +
                " && find . -path ./.git -prune -o -printf '%y %m %l ' -type f -exec sha1sum {} \\; -o "
                "-print | sort");
  }
};

TEST_F(Changes, NothingReachesTheHostBeforeItIsApplied) {
  change();
  good("cove snapshot t s; cove sh t 'echo later > later'");
  EXPECT_EQ(state_of("project"), state_of("original"));
  EXPECT_EQ(good("cd project && git status --porcelain"), "");
}

TEST_F(Changes, ThePatchMakesTheSameTreeOfTheOriginal) {
  change();
  good("cove diff t /workspace > patch");
  good(
      "mkdir again && cp -a original again/workspace && cd again && rm -rf workspace/.git && git init -q . && "
      "git apply ../patch && printf '\\0\\3' > workspace/docs/binary && grep -q '^Binary files.*docs/binary' ../patch");
  good("cove apply t");
  EXPECT_EQ(
      good("cd again/workspace && find . -type f -exec sha1sum {} + | sort -k2; readlink docs/link"),
      good("cd project && find . -path ./.git -prune -o -type f -exec sha1sum {} + | sort -k2; readlink docs/link"));
}

TEST_F(Changes, DiffCountsNamesAndNarrows) {
  change();
  EXPECT_EQ(good("cove diff t --names /workspace"),
            "M workspace/docs/binary\nM workspace/docs/link\nM workspace/docs/long\nM workspace/docs/short\n"
            "A workspace/new/\nA workspace/new/file\nA workspace/new/with space\nM workspace/src/lib.sh\n"
            "M workspace/test.sh\n");
  EXPECT_EQ(good("cove diff t --names src"), "M workspace/src/lib.sh\n") << "relative to /workspace";
  EXPECT_EQ(good("cove diff t --names /workspace/new/file"), "A workspace/new/file\n");
  EXPECT_EQ(good("cove diff t --names --only '*.sh'"), "M workspace/src/lib.sh\nM workspace/test.sh\n");
  const std::string stat = good("cove diff t --stat");
  EXPECT_NE(stat.find("workspace/docs/long"), std::string::npos) << stat;
  EXPECT_NE(stat.find("8 files changed"), std::string::npos) << stat;
  EXPECT_EQ(good("cove diff t --json src | tr -d ' \\n' | grep -o '\"lines_added\":1,\"lines_removed\":1'"),
            "\"lines_added\":1,\"lines_removed\":1\n");
  EXPECT_EQ(good("cove diff t --names /nowhere"), "");
}

TEST_F(Changes, DiffFromATagIsWhatCameAfterIt) {
  change();
  good("cove snapshot t s && cove sh t 'echo later > later; rm new/file'");
  EXPECT_EQ(good("cove diff t --from s --names"), "A workspace/later\nD workspace/new/file\n");
  good("cove snapshot t s2");
  EXPECT_EQ(good("cove diff t --from s --names"), "A workspace/later\nD workspace/new/file\n") << "sealed or not";
  EXPECT_EQ(good("cove diff t --from s2 --names"), "");
  good("cove create other && cove sh other 'echo x > x' && cove snapshot other strange");
  refused("cove diff t --from strange", "does not stand on snapshot strange");
}

TEST_F(Changes, ApplyBringsExactlyTheChanges) {
  change();
  const std::string plan = good("cove apply t --dry-run");
  EXPECT_EQ(state_of("project"), state_of("original")) << "a dry run writes nothing";
  EXPECT_EQ(good("cove apply t"), plan);
  EXPECT_EQ(good("cat project/src/lib.sh project/test.sh project/new/file 'project/new/with space'; "
                 "readlink project/docs/link; stat -c %a project/docs/short; ls -A project"),
            "add() {\n  echo $(($1 - $2))\n}\necho ok\nnew\na b\nshort\n700\n.git\ndocs\nnew\nsrc\ntest.sh\n");
  const std::string after = state_of("project");
  good("cove apply t");
  EXPECT_EQ(state_of("project"), after) << "twice is once";
  good("cove sh t 'echo more >> new/file' && cove apply t");
  EXPECT_EQ(good("cat project/new/file"), "new\nmore\n") << "what an apply wrote is no stranger's change";
}

TEST_F(Changes, SeveralLayersAreAppliedAsOne) {
  good("cove sh t 'echo 1 > a; echo 1 > b; rm docs/long' && cove snapshot t s1");
  good("cove sh t 'rm a; echo 2 > b; mkdir docs/long; echo 3 > docs/long/x' && cove snapshot t s2");
  good("cove sh t 'echo 4 >> b' && cove apply t");
  EXPECT_EQ(good("cd project; ls; cat b docs/long/x"), "b\ndocs\nsrc\ntest.sh\n2\n4\n3\n");
  EXPECT_EQ(good("ls \"$COVE_HOME/layers\" | grep -c apply || true"), "0\n");
}

TEST_F(Changes, OnlyWhatIsWantedIsApplied) {
  change();
  good("cove apply t --only '*.sh'");
  EXPECT_EQ(good("cd project && git status --porcelain"), " M src/lib.sh\n M test.sh\n");
  good("cove apply t --only new");
  EXPECT_EQ(good("cd project && git status --porcelain"), " M src/lib.sh\n M test.sh\n?? new/\n");
}

TEST_F(Changes, AConflictIsShownAndNothingIsOverwritten) {
  change();
  good("echo mine > project/test.sh; rm project/docs/short; echo mine > project/other");
  const std::string before = state_of("project");
  const Ran ran = run("cove apply t");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("conflict: test.sh"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("conflict: docs/short"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("nothing was written"), std::string::npos) << ran.err;
  EXPECT_EQ(state_of("project"), before);
  const Ran json = run("cove apply t --json");
  EXPECT_EQ(json.code, 1);
  EXPECT_NE(json.out.find("\"applied\":false"), std::string::npos) << json.out;
  EXPECT_EQ(run("cove apply t --partial").code, 1);
  EXPECT_EQ(good("cd project; cat test.sh other new/file; ls docs"), "mine\nmine\nnew\nbinary\nlink\nlong\n");
}

TEST_F(Changes, OneOfSeveralCopiesIsNamed) {
  good(
      "mkdir second && cove create --volume $PWD/project:/workspace:cow --volume $PWD/second:/second:cow u && "
      "cove sh u 'echo 1 > one; echo 2 > /second/two'");
  refused("cove apply u", "say which with --to");
  good("cove apply u --to $PWD/second/");
  EXPECT_EQ(good("cat second/two; ls project"), "2\ndocs\nsrc\ntest.sh\n");
  refused("cove apply u --to $PWD/third", "has no copy of");
}

TEST_F(Changes, ForksAreAppliedIndependently) {
  const std::string fork = good("cove fork t | tr -d '\\n'");
  good("cove sh t 'echo t > of-t' && cove sh " + fork + " 'echo f > of-fork; echo f > of-t'");
  good("cove apply t");
  EXPECT_EQ(run("cove apply " + fork).code, 1) << "the other's file is somebody else's change";
  EXPECT_EQ(good("cat project/of-t; ls project"), "t\ndocs\nof-t\nsrc\ntest.sh\n");
}

}  // namespace
