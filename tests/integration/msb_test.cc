// Cove under the name of msb.

#include <algorithm>
#include <filesystem>

#include "cli.h"
#include "helpers/home.h"

namespace {

class Msb : public Cli {
 protected:
  void SetUp() override {
    setenv("COVE_MSB_BACKEND", "native", 1);
    const Ran made = run(
        "mkdir -p bin shared rootfs/bin rootfs/tmp rootfs/root rootfs/etc rootfs/proc && ln -s $(command -v cove) "
        "bin/msb && "
        "cp $(command -v busybox) rootfs/bin/ && for p in sh cat echo uname wc sleep pwd true env; do ln -s busybox "
        "rootfs/bin/$p; done && printf 'root:x:0:0::/root:/bin/sh\\n' > rootfs/etc/passwd && chmod 1777 rootfs/tmp && "
        "chmod 777 shared && tar -C rootfs -c . | cove image import - seed:1");
    ASSERT_EQ(made.code, 0) << made.err;
  }
  Ran msb(const std::string& words) { return run("timeout 300 bin/msb " + words); }
};

TEST_F(Msb, ASequenceOfCallsGivesWhatMsbGives) {
  const Ran ran = run("timeout 600 bash " COVE_TEST_MSB_DIR "/sequence $PWD/bin/msb seed:1 $PWD/shared");
  std::ostringstream expected;
  expected << std::ifstream(COVE_TEST_MSB_DIR "/expected").rdbuf();
  EXPECT_EQ(ran.out, expected.str()) << ran.err;
}

TEST_F(Msb, RunKeepsOnlyWhatHasAName) {
  const Ran once = msb("run --quiet --no-net ./rootfs -- sh -c 'echo once; exit 7'");
  EXPECT_EQ(once.out, "once\n") << once.err;
  EXPECT_EQ(once.code, 7);
  EXPECT_EQ(msb("ls -q").out, "");
  EXPECT_EQ(msb("run --quiet --no-net --name kept seed:1 -- sh -c 'echo there > /root/file'").code, 0);
  EXPECT_EQ(msb("ls -q --stopped").out, "kept\n");
  EXPECT_EQ(msb("exec kept -- cat /root/file").out, "there\n");
  EXPECT_EQ(msb("ls -q --stopped").out, "kept\n");
  EXPECT_EQ(msb("start kept").code, 0);
  EXPECT_EQ(msb("ls -q --stopped").out, "");
  const Ran refused = msb("rm kept");
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(refused.err.starts_with("error: sandbox is running: kept")) << refused.err;
}

TEST_F(Msb, ADetachedRunWritesItsLog) {
  const Ran ran = msb("run -d --quiet --no-net --name d ./rootfs -- sh -c 'echo one; echo two; echo three'");
  EXPECT_EQ(ran.out, "d\n") << ran.err;
  EXPECT_EQ(msb("logs -f d").out, "one\ntwo\nthree\n");
  EXPECT_EQ(msb("logs --tail 2 d").out, "two\nthree\n");
}

TEST_F(Msb, ListsAreTablesNamesOrJson) {
  EXPECT_EQ(msb("ls").out, "No sandboxes found.\n");
  EXPECT_EQ(msb("create --quiet --no-net --name a ./rootfs").code, 0);
  EXPECT_EQ(msb("ls").out.substr(0, 4), "NAME");
  EXPECT_EQ(
      run("bin/msb ls --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0][\"status\"])'").out,
      "Running\n");
  EXPECT_EQ(
      run("bin/msb inspect a --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"name\"])'").out,
      "a\n");
  EXPECT_EQ(msb("ps -q").out, "a\n");
}

TEST_F(Msb, UsageErrorsAreTwoAndOwnOnesOne) {
  EXPECT_EQ(msb("").code, 2);
  EXPECT_EQ(msb("create --no-such").code, 2);
  EXPECT_EQ(msb("create --cpus none ./rootfs").code, 2);
  EXPECT_EQ(msb("create").code, 1);
  EXPECT_EQ(msb("start nope").err, "error: sandbox not found: nope\n");
  EXPECT_EQ(msb("exec --help").code, 0);
  EXPECT_EQ(msb("doctor").code, 0);
  const Ran named = msb("create --no-net --volume named:/x ./rootfs");
  EXPECT_EQ(named.code, 1);
  EXPECT_NE(named.err.find("named volumes are not there"), std::string::npos) << named.err;
}

TEST_F(Msb, ImagesComeFromArchives) {
  EXPECT_EQ(run("cove image save seed:1 -o a.tar").code, 0);
  EXPECT_EQ(msb("load -i a.tar -t other:1").code, 0);
  EXPECT_NE(msb("image list").out.find("other:1"), std::string::npos);
  EXPECT_EQ(msb("run --quiet --no-net --pull never other:1 -- uname").out, "Linux\n");
  EXPECT_EQ(msb("load -i bin/msb").code, 1);
}

}  // namespace
