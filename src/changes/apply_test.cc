#include "changes/apply.h"

#include <ctime>

#include "changes/test_trees.h"

namespace cove::changes {
namespace {

timespec now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

// The host's directory is the lower layer of a real overlay; what the sandbox does is in upper_.
class Apply : public Trees {
 protected:
  void SetUp() override {
    Trees::SetUp();
    if (const std::string why = no_overlay(); !why.empty()) GTEST_SKIP() << why;
  }
  // The copy begins; everything on the host after this is a change meanwhile. A file's clock has ticks: goes on when it
  // is past this moment.
  void begin() {
    options_.base = now();
    const std::string probe = base_ + "/tick";
    struct stat info{};
    do {
      std::ofstream(probe) << "x";
      ASSERT_EQ(stat(probe.c_str(), &info), 0);
    } while (info.st_ctim.tv_sec < options_.base.tv_sec ||
             (info.st_ctim.tv_sec == options_.base.tv_sec && info.st_ctim.tv_nsec <= options_.base.tv_nsec));
  }
  void inside(const std::string& script) { run_inside({host_}, script); }
  Applied apply_now() {
    auto applied = apply(upper_, host_, options_);
    EXPECT_TRUE(applied) << applied.error().text();
    if (!applied) return {};
    options_.already = applied->written;
    return *applied;
  }
  static std::vector<std::string> lines(const Applied& applied) {
    std::vector<std::string> all;
    for (const auto& change : applied.changes) all.push_back("+~-"[static_cast<int>(change.what)] + change.path);
    return all;
  }
  static std::vector<std::string> paths(const std::vector<Objection>& objections) {
    std::vector<std::string> all;
    for (const auto& objection : objections) all.push_back(objection.path);
    return all;
  }
  // The host shows what the sandbox sees.
  void expect_host_is_inside(const Tree& seen) { expect_same(tree_of(host_), seen); }
  Tree seen_inside() { return kernel_views({{upper_, host_}})[0]; }

  using Lines = std::vector<std::string>;
  ApplyOptions options_;
};

TEST_F(Apply, TheHostBecomesWhatTheSandboxSaw) {
  for (const char* name : {"edit", "gone", "mode", "d/x", "d/y/z", "move", "becomes-dir", "becomes-file/f"})
    write_text(host_ + "/" + name, std::string("text of ") + name);
  fs::create_symlink("edit", host_ + "/link");
  begin();
  inside(
      "echo more >> edit; rm gone; chmod 755 mode; rm -r d; mkdir d; echo n > d/new; mkdir -p a/b; echo c > a/b/c;"
      "mkdir empty; chmod 700 empty; mv move moved; rm becomes-dir; mkdir becomes-dir; echo x > becomes-dir/x;"
      "rm -r becomes-file; echo x > becomes-file; ln -sfn mode link; ln -s a/b/c to-c");
  const Tree seen = seen_inside();
  const Applied applied = apply_now();
  EXPECT_TRUE(applied.wrote);
  EXPECT_EQ(paths(applied.conflicts), Lines{});
  EXPECT_EQ(paths(applied.refused), Lines{});
  expect_host_is_inside(seen);
}

TEST_F(Apply, IsTheSameForRandomLayers) {
  RandomLayers random(9);
  random.fill_cases(host_, 60, false);
  random.fill_cases(upper_, 60, true);
  begin();
  options_.links = true;
  const Tree seen = seen_inside();
  const Applied applied = apply_now();
  ASSERT_EQ(paths(applied.conflicts), Lines{});
  expect_host_is_inside(seen);
  EXPECT_EQ(lines(apply_now()), Lines{});
}

TEST_F(Apply, ADryRunWritesNothing) {
  write_text(host_ + "/f", "old");
  begin();
  inside("echo new > f; echo g > g");
  const Tree before = tree_of(host_);
  options_.dry_run = true;
  const Applied applied = apply_now();
  EXPECT_FALSE(applied.wrote);
  EXPECT_EQ(lines(applied), (Lines{"~f", "+g"}));
  expect_same(tree_of(host_), before);
}

TEST_F(Apply, WhatTheHostChangedMeanwhileIsAConflictAndNothingIsWritten) {
  for (const char* name : {"both", "inside", "removed-inside", "d/f"}) write_text(host_ + "/" + name, "old");
  begin();
  inside("echo in > both; echo in > inside; rm removed-inside; rm -r d");
  write_text(host_ + "/both", "host");
  write_text(host_ + "/removed-inside", "host");
  write_text(host_ + "/d/new", "host");
  const Tree before = tree_of(host_);
  const Applied applied = apply_now();
  EXPECT_FALSE(applied.wrote);
  EXPECT_EQ(paths(applied.conflicts), (Lines{"both", "d/new", "removed-inside"}));
  EXPECT_EQ(applied.conflicts[0].reason, "it was changed on the host since the copy began");
  expect_same(tree_of(host_), before);
}

TEST_F(Apply, PartialDoesWhatHasNoConflict) {
  for (const char* name : {"both", "inside", "d/f", "d/g"}) write_text(host_ + "/" + name, "old");
  begin();
  inside("echo in > both; echo in > inside; rm -r d");
  write_text(host_ + "/both", "host");
  write_text(host_ + "/d/g", "host");
  options_.partial = true;
  const Applied applied = apply_now();
  EXPECT_TRUE(applied.wrote);
  EXPECT_EQ(paths(applied.conflicts), (Lines{"both", "d/g"}));
  EXPECT_EQ(read_text(host_ + "/inside"), "in\n");
  EXPECT_EQ(read_text(host_ + "/both"), "host");
  EXPECT_EQ(read_text(host_ + "/d/g"), "host");
  EXPECT_FALSE(fs::exists(host_ + "/d/f"));
}

TEST_F(Apply, TheSameChangeOnBothSidesIsNoConflict) {
  write_text(host_ + "/f", "old");
  begin();
  inside("printf new > f; printf new > g; chmod 644 f g");
  write_text(host_ + "/f", "new");
  write_text(host_ + "/g", "new");
  const Applied applied = apply_now();
  EXPECT_EQ(paths(applied.conflicts), Lines{});
  EXPECT_EQ(lines(applied), Lines{});
}

TEST_F(Apply, DeletedOnTheHostButChangedInsideIsAConflict) {
  write_text(host_ + "/f", "old");
  write_text(host_ + "/d/g", "old");
  begin();
  inside("echo in >> f; echo new > d/h");
  fs::remove(host_ + "/f");
  fs::remove_all(host_ + "/d");
  EXPECT_EQ(paths(apply_now().conflicts), (Lines{"d", "f"}));
}

TEST_F(Apply, AFileRenamedInsideIsNotTakenForOneDeletedOnTheHost) {
  write_text(host_ + "/f", "old");
  write_text(host_ + "/g", "other");
  begin();
  inside("mv f renamed; mv g edited; echo more >> edited");
  write_text(host_ + "/new", "host");
  const Applied applied = apply_now();
  EXPECT_EQ(paths(applied.conflicts), Lines{"edited"});
  options_.partial = true;
  EXPECT_TRUE(apply_now().wrote);
  EXPECT_EQ(read_text(host_ + "/renamed"), "old");
}

TEST_F(Apply, AddedOnBothSidesIsAConflict) {
  begin();
  inside("echo in > f; mkdir d; echo in > e");
  write_text(host_ + "/f", "host");
  write_text(host_ + "/d", "a file on the host");
  write_text(host_ + "/e/f", "a directory on the host");
  EXPECT_EQ(paths(apply_now().conflicts), (Lines{"d", "e", "f"}));
  EXPECT_EQ(read_text(host_ + "/e/f"), "a directory on the host");
}

TEST_F(Apply, WhatAnEarlierApplyWroteIsNoConflictUnlessTheHostChangedItAgain) {
  write_text(host_ + "/f", "old");
  write_text(host_ + "/d/x", "x");
  begin();
  inside("echo one > f; echo one > g; rm d/x");
  EXPECT_TRUE(apply_now().wrote);
  const auto stored = written_from_json(to_json(options_.already));
  ASSERT_TRUE(stored);
  options_.already = *stored;
  inside("echo two > f; echo two > g; rmdir d");
  const Applied second = apply_now();
  EXPECT_EQ(paths(second.conflicts), Lines{});
  EXPECT_EQ(read_text(host_ + "/f"), "two\n");
  EXPECT_FALSE(fs::exists(host_ + "/d"));
  inside("echo three > f; echo three > g");
  write_text(host_ + "/f", "host");
  fs::remove(host_ + "/g");
  EXPECT_EQ(paths(apply_now().conflicts), (Lines{"f", "g"}));
}

TEST_F(Apply, OnlyWhatThePatternsNameIsBrought) {
  write_text(host_ + "/src/a.cc", "old");
  write_text(host_ + "/swap", "old");
  write_text(host_ + "/other", "old");
  begin();
  inside(
      "echo in > src/a.cc; echo in > src/a.h; mkdir new; echo in > new/b.cc; mkdir unused; echo in > unused/c;"
      "rm swap; mkdir swap; echo in > swap/d; rm other");
  write_text(host_ + "/src/a.h", "host");
  options_.only = {"*.cc"};
  const Applied applied = apply_now();
  EXPECT_EQ(paths(applied.conflicts), Lines{});
  EXPECT_EQ(lines(applied), (Lines{"+new", "+new/b.cc", "~src/a.cc"}));
  EXPECT_EQ(read_text(host_ + "/swap"), "old");
  EXPECT_EQ(read_text(host_ + "/other"), "old");
  EXPECT_FALSE(fs::exists(host_ + "/unused"));
}

TEST_F(Apply, ReplacedFilesKeepTheirOwnerAndNewOnesGetTheCallers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write_text(host_ + "/f", "old");
  begin();
  write_text(upper_ + "/f", "new");
  write_text(upper_ + "/d/g", "new");
  ASSERT_EQ(chown((host_ + "/f").c_str(), 1234, 1235), 0);
  ASSERT_EQ(chown((upper_ + "/f").c_str(), 9, 9), 0);
  options_.base = now();
  options_.owner = Owner{.uid = 77, .gid = 78};
  EXPECT_TRUE(apply_now().wrote);
  struct stat info{};
  ASSERT_EQ(stat((host_ + "/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234U);
  EXPECT_EQ(info.st_gid, 1235U);
  for (const char* name : {"/d", "/d/g"}) {
    ASSERT_EQ(stat((host_ + name).c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 77U);
    EXPECT_EQ(info.st_gid, 78U);
  }
}

}  // namespace
}  // namespace cove::changes
