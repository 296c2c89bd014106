#include "cli.h"

namespace {

class CliFiles : public Cli {
 protected:
  CliFiles() {
    run("cove create t; mkdir -p src/sub; echo a >src/a; echo b >src/sub/b; ln -s a src/l; chmod 700 src/sub\n"
        "touch -d '2001-02-03 04:05:06' src/a src/sub");
  }
};

TEST_F(CliFiles, ADirectoryComesBackAsItWas) {
  EXPECT_EQ(run("cove cp src t:in && cove cp t:in out && diff -r --no-dereference src out").code, 0);
  EXPECT_EQ(run("cd src; stat -c '%n %a %Y' a sub").out, run("cd out; stat -c '%n %a %Y' a sub").out);
  EXPECT_EQ(run("readlink out/l").out, "a\n");
}

TEST_F(CliFiles, ADirectoryGoesIntoADirectoryThatExists) {
  run("mkdir there");
  EXPECT_EQ(run("cove cp src t:$PWD/there; cat there/src/a").out, "a\n");
  EXPECT_EQ(run("cove cp t:$PWD/src/a there; cat there/a").out, "a\n");
  EXPECT_EQ(run("echo new >src/a; cove cp t:$PWD/src there; cat there/src/a").out, "new\n");
}

TEST_F(CliFiles, WhatIsNotThereIsAnErrorAndLeavesNothing) {
  EXPECT_EQ(run("cove cp t:/no/such/thing x").code, 125);
  EXPECT_EQ(run("cove cp nothing t:/tmp/x").code, 125);
  EXPECT_EQ(run("cove cp t:$PWD/src/a nodir/").code, 125);
  EXPECT_EQ(run("ls -A").out, "src\n");
}

TEST_F(CliFiles, PipesAreSkippedAndNamed) {
  const Ran ran = run("mkfifo src/pipe; cove cp src t:in");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.err.find("skipped: src/pipe"), std::string::npos);
}

TEST_F(CliFiles, NamesAreBytes) {
  run("touch $'src/\\xff' 'src/ü ä'");
  EXPECT_EQ(run("cove cp src t:in && cove cp t:in out && diff -r src out").code, 0);
}

}  // namespace
