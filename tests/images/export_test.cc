// A sandbox goes elsewhere: its snapshot, written as an archive, in the hands of docker, podman and another COVE_HOME.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engines.h"
#include "helpers/process.h"
#include "image/store.h"
#include "os/users.h"
#include "record/snapshots.h"
#include "tree.h"

namespace cove::image_tests {
namespace {

namespace fs = std::filesystem;
using testing_helpers::slurp;

// What everybody can say about the files, from inside; engines add their own to /etc and /dev.
constexpr const char* kLook =
    "cd / && find bin data work usr | sort | while read -r f; do stat -c '%n %F %a %u:%g' \"$f\"; "
    "[ -f \"$f\" ] && md5sum <\"$f\"; [ -L \"$f\" ] && readlink \"$f\"; done; [ work/more -ef work/again ] && echo "
    "linked";

class ExportTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const char* name : {"COVE_PROGRAM", "COVE_BACKEND", "COVE_GUEST", "COVE_IMAGE"}) unsetenv(name);
  }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "owners of files and engines need root";
    if (const std::string why = missing({"busybox"}); !why.empty()) GTEST_SKIP() << why;
    std::string form = testing::TempDir() + "cove-export-XXXXXX";
    folder_ = mkdtemp(form.data());
    chmod(folder_.c_str(), 0755);
    archive_ = folder_ + "/two.tar";
    setenv("HOME", folder_.c_str(), 1);
    make_base();
    make_snapshot();
  }
  void TearDown() override {
    if (folder_.empty()) return;
    for (const char* home : {"here", "there"}) cove(home, "rm --force $(cove ls --names)");
    fs::remove_all(folder_);
  }

  Ran cove(const std::string& home, const std::string& words) const {
    return shell("export PATH=" COVE_TEST_PROGRAM_DIR ":$PATH COVE_HOME=" + folder_ + "/" + home + "; cove " + words);
  }
  void must(const std::string& words) const {
    const Ran ran = cove("here", words);
    ASSERT_EQ(ran.code, 0) << words << ": " << ran.text;
  }

  // A small root file system, of the users that a sandbox has; one file is only the host's.
  void make_base() const {
    const std::string first = std::to_string(os::kFirstId);
    const Ran made = shell(
        "set -e; cd " + folder_ +
        "; mkdir -p base/{bin,etc,tmp,data/{deep/er,old},usr/bin}; cp $(command -v busybox) base/bin/; "
        "for a in sh cat mkdir rm ln chmod chown find sort stat md5sum readlink; do ln -s busybox base/bin/$a; done; "
        "echo base >base/data/base; echo gone >base/data/gone; echo y >base/data/deep/er/y; "
        "echo x >base/data/old/x; chmod 1777 base/tmp; chown -R " +
        first + ":" + first + " base; echo secret >base/data/private; chmod 0600 base/data/private; chmod 0755 base");
    ASSERT_EQ(made.code, 0) << made.text;
  }
  void make_snapshot() const {
    setenv("HIDDEN", "secret", 1);
    must("create --backend native --image " + folder_ + "/base --env GREETING=hello --forward-env HIDDEN box");
    must(
        "sh box 'mkdir /work && cd /work && echo one >f && ln f g && ln -s f l && rm /data/gone && rm -r /data/old && "
        "mkdir /data/old && echo new >/data/old/new && KEPT=yes'");
    must("snapshot box one");
    must(
        "sh box 'chown 33:44 f; chmod 4750 f; rm -r /data/deep; echo file >/data/deep; echo more >more; ln more again; "
        "umask 027'");
    must("snapshot box two");
  }
  void write_archive() const { must("snapshot export two " + archive_); }
  std::string seen_in(const std::string& home, const std::string& sandbox) const {
    const Ran ran = cove(home, "sh " + sandbox + " \"$(cat <<'END'\n(" + kLook + ")\nEND\n)\"");
    EXPECT_EQ(ran.code, 0) << ran.text;
    return without_private(ran.text);
  }
  std::string seen_here() const { return seen_in("here", "box"); }
  // It is there, but nobody inside can read it.
  static std::string without_private(const std::string& text) {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
      const std::string line = text.substr(at, end + 1 - at);
      if (line.find("private") == std::string::npos) kept += line;
      at = end + 1;
    }
    return kept;
  }

  // The same layers as the sandbox stands on, and as the store has them.
  Tree tree_here() const {
    std::vector<std::string> lowers{folder_ + "/base"};
    setenv("COVE_HOME", (folder_ + "/here").c_str(), 1);
    const auto snapshot = record::find_snapshot("two");
    EXPECT_TRUE(snapshot) << snapshot.error().text();
    for (const std::string& id : snapshot->layers)
      lowers.insert(lowers.begin(), folder_ + "/here/layers/" + id + "/root");
    Tree tree = read_overlay(lowers, os::kFirstId, folder_);
    tree.erase("/data/private");
    return tree;
  }
  Tree tree_there(const std::string& name) const {
    auto store = image::Store::open(folder_ + "/there");
    const auto image = store ? store->find(name) : Result<std::optional<image::Image>>(fail(store.error()));
    if (!image || !*image) return {{"", "there is no " + name}};
    const auto lowers = store->lowers(**image);
    return lowers ? read_overlay(*lowers, os::kFirstId, folder_) : Tree{{"", lowers.error().text()}};
  }

  std::string folder_, archive_;
};

TEST_F(ExportTest, DockerLoadsItAndRunsItWithTheSameFiles) {
  if (const std::string why = missing({"docker", "dockerd", "containerd"}); !why.empty()) GTEST_SKIP() << why;
  write_archive();
  Dockerd daemon(folder_);
  if (!daemon.ready()) GTEST_SKIP() << "dockerd does not start here: " << daemon.words();
  const Ran loaded = daemon.docker("load -i " + archive_);
  ASSERT_EQ(loaded.code, 0) << loaded.text;
  EXPECT_NE(loaded.text.find("localhost/snapshot:two"), std::string::npos) << loaded.text;
  const std::string run = "run --rm --network none localhost/snapshot:two ";
  const Ran look = daemon.docker(run + "sh -c \"$(cat <<'END'\n" + kLook + "\nEND\n)\"");
  ASSERT_EQ(look.code, 0) << look.text;
  EXPECT_EQ(look.text, seen_here());
  EXPECT_NE(look.text.find("work/f regular file 4750 33:44"), std::string::npos) << look.text;
  EXPECT_TRUE(look.text.ends_with("linked\n")) << look.text;
  EXPECT_EQ(daemon.docker(run + "sh -c 'echo $GREETING'").text, "hello\n");
}

TEST_F(ExportTest, PodmanLoadsItAndRunsItWithTheSameFiles) {
  if (const std::string why = missing({"podman", "runc"}); !why.empty()) GTEST_SKIP() << why;
  write_archive();
  const Podman engine(folder_);
  const Ran loaded = engine.podman("load -i " + archive_ + " 2>&1");
  ASSERT_EQ(loaded.code, 0) << loaded.text;
  EXPECT_NE(loaded.text.find("localhost/snapshot:two"), std::string::npos) << loaded.text;
  const std::string run =
      "run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 localhost/snapshot:two ";
  const Ran look = engine.podman(run + "sh -c \"$(cat <<'END'\n" + kLook + "\nEND\n)\"");
  ASSERT_EQ(look.code, 0) << look.text;
  EXPECT_EQ(look.text, seen_here());
  EXPECT_EQ(engine.podman(run + "sh -c 'echo $GREETING'").text, "hello\n");
  Ran mounted = engine.podman("image mount localhost/snapshot:two");
  ASSERT_EQ(mounted.code, 0) << mounted.text;
  mounted.text.pop_back();
  EXPECT_EQ(difference(tree_here(), read_tree(mounted.text, 0)), "");
}

TEST_F(ExportTest, AnotherHomeGetsTheSameTreeAndSessions) {
  write_archive();
  const Ran taken = cove("there", "snapshot import " + archive_ + " mine");
  ASSERT_EQ(taken.code, 0) << taken.text;
  EXPECT_EQ(taken.text, "mine\n");
  const Tree tree = tree_there("localhost/snapshot:mine");
  EXPECT_TRUE(tree.contains("/work/more"));
  EXPECT_FALSE(tree.contains("/data/gone"));
  EXPECT_FALSE(tree.contains("/data/old/x"));
  EXPECT_EQ(difference(tree_here(), tree), "");
  EXPECT_EQ(slurp(folder_ + "/there/snapshots/mine/sessions"), slurp(folder_ + "/here/snapshots/two/sessions"));
  EXPECT_NE(slurp(folder_ + "/there/snapshots/mine/sessions").find("KEPT"), std::string::npos);
  // And through a pipe, from there to a third one.
  const Ran piped =
      cove("there", "snapshot export mine - | COVE_HOME=" + folder_ + "/third cove snapshot import - far");
  EXPECT_EQ(piped.code, 0) << piped.text;
  EXPECT_EQ(slurp(folder_ + "/third/snapshots/far/sessions"), slurp(folder_ + "/here/snapshots/two/sessions"));
}

TEST_F(ExportTest, ASandboxMadeOfItElsewhereGoesOnWhereTheOtherWas) {
  write_archive();
  ASSERT_EQ(cove("there", "snapshot import " + archive_ + " mine").code, 0);
  const Ran made = cove("there", "create --from mine away");
  ASSERT_EQ(made.code, 0) << made.text;
  const std::string ask = "'pwd; echo $KEPT $GREETING; umask'";
  const Ran here = cove("here", "sh box " + ask), there = cove("there", "sh away " + ask);
  EXPECT_EQ(there.text, "/work\nyes hello\n0027\n");
  EXPECT_EQ(there.text, here.text);
  EXPECT_EQ(seen_in("there", "away"), seen_here());
  // What it is made of now goes on, too.
  ASSERT_EQ(cove("there", "sh away 'echo again >/work/later'").code, 0);
  ASSERT_EQ(cove("there", "snapshot away next").code, 0);
  const Ran moved =
      cove("there", "snapshot export next - | COVE_HOME=" + folder_ + "/here cove snapshot import - back");
  ASSERT_EQ(moved.code, 0) << moved.text;
  ASSERT_EQ(cove("here", "create --from back home").code, 0);
  EXPECT_EQ(cove("here", "sh home 'pwd; cat later f'").text, "/work\nagain\none\n");
  ASSERT_EQ(cove("there", "snapshot rm mine next").code, 0);
  const Ran refused = cove("there", "image rm localhost/snapshot:mine");
  EXPECT_EQ(refused.code, 125);
  EXPECT_NE(refused.text.find("sandbox away"), std::string::npos) << refused.text;
}

TEST_F(ExportTest, ForwardedValuesAreNotInIt) {
  EXPECT_EQ(cove("here", "sh box 'echo $HIDDEN'").text, "secret\n");
  write_archive();
  ASSERT_EQ(cove("there", "snapshot import " + archive_ + " mine").code, 0);
  EXPECT_EQ(slurp(folder_ + "/there/snapshots/mine/sessions").find("secret"), std::string::npos);
  EXPECT_EQ(cove("there", "image inspect localhost/snapshot:mine").text.find("secret"), std::string::npos);
}

TEST_F(ExportTest, WhatOnlyTheHostMayReadIsNotInTheArchiveAndOnlyItsOwnerReadsThat) {
  write_archive();
  struct stat info{};
  ASSERT_EQ(stat(archive_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  const Ran inside = shell("cd " + folder_ +
                           " && mkdir out && tar -xf two.tar -C out && for b in out/blobs/sha256/*; do "
                           "tar -tf $b 2>/dev/null; done; grep -rl secret out; :");
  EXPECT_NE(inside.text.find("data/base"), std::string::npos) << inside.text;
  EXPECT_EQ(inside.text.find("private"), std::string::npos) << inside.text;
  EXPECT_EQ(inside.text.find("out/"), std::string::npos) << inside.text;
}

TEST_F(ExportTest, ImagesOfSnapshotsAreRefusedToRmAndGoWithThem) {
  write_archive();
  ASSERT_EQ(cove("there", "snapshot import " + archive_ + " mine").code, 0);
  const Ran refused = cove("there", "image rm localhost/snapshot:mine");
  EXPECT_EQ(refused.code, 125);
  EXPECT_NE(refused.text.find("snapshot mine"), std::string::npos) << refused.text;
  // Without its name its layers stay.
  ASSERT_EQ(cove("there", "image rm --force localhost/snapshot:mine").code, 0);
  EXPECT_EQ(cove("there", "image prune").text.rfind("0 layers", 0), 0U);
  EXPECT_EQ(cove("there", "image ls --names").text.find("mine"), std::string::npos);
  ASSERT_EQ(cove("there", "snapshot rm mine").code, 0);
  EXPECT_EQ(cove("there", "image prune").text.rfind("3 layers", 0), 0U);
  ASSERT_EQ(cove("there", "snapshot import " + archive_ + " mine").code, 0);
  ASSERT_EQ(cove("there", "snapshot rm mine").code, 0);
  EXPECT_EQ(cove("there", "image prune").text.rfind("3 layers", 0), 0U);
}

TEST_F(ExportTest, TruncatedForeignAndMissingArchivesAreRefusedAndLeaveNothing) {
  write_archive();
  const std::string bytes = slurp(archive_);
  std::ofstream(folder_ + "/cut.tar", std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  ASSERT_EQ(shell("cd " + folder_ + " && tar -C base -cf foreign.tar . && xz -k foreign.tar; echo text >text").code, 0);
  for (const char* name : {"cut.tar", "foreign.tar", "foreign.tar.xz", "text", "none"}) {
    const Ran ran = cove("there", "snapshot import " + folder_ + "/" + name + " mine");
    EXPECT_EQ(ran.code, 125) << name << ": " << ran.text;
    EXPECT_EQ(ran.text.find("not unpacked"), std::string::npos) << ran.text;
  }
  EXPECT_NE(cove("there", "image load " + folder_ + "/text").text.find("no tar"), std::string::npos);
  EXPECT_NE(cove("there", "image load " + folder_ + "/foreign.tar.xz").text.find("xz"), std::string::npos);
  EXPECT_EQ(cove("there", "snapshots --json").text.find("mine"), std::string::npos);
  EXPECT_EQ(cove("there", "image ls --json").text.find("mine"), std::string::npos);
  EXPECT_EQ(cove("here", "snapshot export none " + folder_ + "/x").code, 125);
  EXPECT_FALSE(fs::exists(folder_ + "/x"));
}

}  // namespace
}  // namespace cove::image_tests
