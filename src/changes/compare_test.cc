#include <sys/socket.h>
#include <sys/un.h>

#include <nlohmann/json.hpp>

#include "changes/changes.h"
#include "changes/test_trees.h"
#include "changes/text.h"

namespace cove::changes {
namespace {

class Compare : public Trees {
 protected:
  std::vector<Change> changes(const CompareOptions& options = {}) {
    auto found = compare({.layers = {lower_}}, {upper_}, options);
    EXPECT_TRUE(found) << found.error().text();
    return found ? *found : std::vector<Change>{};
  }
  // "+a", "~b", "-c"
  std::vector<std::string> lines(const CompareOptions& options = {}) {
    std::vector<std::string> all;
    for (const Change& change : changes(options)) all.push_back("+~-"[static_cast<int>(change.what)] + change.path);
    return all;
  }
  using Lines = std::vector<std::string>;
};

// What differs between two trees as the kernel shows them, the slow way.
std::vector<std::string> slow(const Tree& before, const Tree& after) {
  std::vector<std::string> all;
  for (const auto& [path, text] : before) {
    const auto found = after.find(path);
    if (found == after.end()) all.push_back(path + " removed");
    if (found != after.end() && found->second != text) all.push_back(path + " changed");
  }
  for (const auto& [path, text] : after) {
    if (!before.contains(path)) all.push_back(path + " added");
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_F(Compare, FindsWhatDiffersBetweenTheKernelsViewsForRandomLayers) {
  COVE_NEEDS_OVERLAY();
  RandomLayers random(3);
  std::vector<std::string> layers;
  for (int i = 0; i < 4; ++i) {
    layers.push_back(fresh("layer"));
    random.fill_cases(layers.back(), 200, i < 3);
  }
  for (const long uppers : {1, 2, 3}) {
    const View lower{.layers = {layers.begin() + uppers, layers.end()}};
    const auto found = compare(lower, {layers.begin(), layers.begin() + uppers});
    ASSERT_TRUE(found) << found.error().text();
    std::vector<std::string> got;
    for (const Change& change : *found) got.push_back(change.path + " " + std::string(name(change.what)));
    std::sort(got.begin(), got.end());
    const auto views = kernel_views({lower.layers, layers});
    const auto want = slow(views[0], views[1]);
    EXPECT_GT(want.size(), 500U);
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) ASSERT_EQ(got[i], want[i]);
    EXPECT_EQ(got.size(), want.size());
  }
}

TEST_F(Compare, WhatAShellDoesInARealOverlay) {
  COVE_NEEDS_OVERLAY();
  for (const char* name : {"same", "edited", "gone", "moded", "touched", "tree/x", "tree/y/z"})
    write_text(lower_ + "/" + name, std::string("text of ") + name);
  fs::create_symlink("same", lower_ + "/link");
  run_inside(
      "echo more >> edited; rm gone; chmod 755 moded; touch touched; cp same s && cat s > same && rm s;"
      "rm -r tree; mkdir tree; echo x > tree/new; ln -sfn edited link; mkfifo pipe; mv touched moved");
  EXPECT_EQ(lines(), (Lines{"~edited", "-gone", "~link", "~moded", "+moved", "+pipe", "-touched", "+tree/new",
                            "-tree/x", "-tree/y", "-tree/y/z"}));
  const auto all = changes();
  EXPECT_EQ(all[3].mode_before, 0644U);
  EXPECT_EQ(all[3].mode, 0755U);
  EXPECT_FALSE(all[3].contents);
  EXPECT_EQ(all[5].kind, Kind::other);
}

TEST_F(Compare, AFileThatIsTheSameAgainIsNoChangeAndTimesAreNone) {
  write_text(lower_ + "/f", "text");
  write_text(upper_ + "/f", "text");
  fs::last_write_time(upper_ + "/f", fs::file_time_type::clock::now() - std::chrono::hours(5));
  EXPECT_EQ(lines(), Lines{});
  write_text(upper_ + "/f", "texT");
  EXPECT_EQ(lines(), Lines{"~f"});
}

TEST_F(Compare, AnotherOwnerIsAChangeSeenFromInside) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write_text(lower_ + "/f", "text");
  write_text(upper_ + "/f", "text");
  ASSERT_EQ(chown((lower_ + "/f").c_str(), 100000, 100000), 0);
  ASSERT_EQ(chown((upper_ + "/f").c_str(), 101000, 7), 0);
  const auto all = changes({.uid_base = 100000, .gid_base = 100000});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].uid_before, 0U);
  EXPECT_EQ(all[0].uid, 1000U);
  EXPECT_EQ(all[0].gid, 65534U);
  EXPECT_FALSE(all[0].contents);
  EXPECT_EQ(lines({.owners = false}), Lines{});
}

TEST_F(Compare, ADirectoryThatBecameAFileListsWhatWasBelowIt) {
  write_text(lower_ + "/d/a/b", "b");
  write_text(upper_ + "/d", "file now");
  EXPECT_EQ(lines(), (Lines{"~d", "-d/a", "-d/a/b"}));
  EXPECT_EQ(changes()[0].kind_before, Kind::directory);
  EXPECT_EQ(changes()[0].kind, Kind::file);
}

TEST_F(Compare, ARemovedDirectoryListsSoManyAndCountsTheRest) {
  for (int i = 0; i < 30; ++i) write_text(lower_ + "/d/" + std::to_string(i), "x");
  whiteout(upper_ + "/d");
  const auto all = changes({.most_below = 10});
  EXPECT_EQ(all.size(), 11U);
  EXPECT_EQ(all[0].path, "d");
  EXPECT_EQ(all[0].not_listed, 20U);
}

TEST_F(Compare, PrefixAndPatternsChoose) {
  for (const char* name : {"a/x.cc", "a/y.h", "ab/x.cc", "b.cc"}) write_text(upper_ + "/" + name, "x");
  EXPECT_EQ(lines({.prefix = "/a/"}), (Lines{"+a", "+a/x.cc", "+a/y.h"}));
  EXPECT_EQ(lines({.prefix = "a/x.cc"}), Lines{"+a/x.cc"});
  EXPECT_EQ(lines({.globs = {"*.cc"}}), (Lines{"+a/x.cc", "+ab/x.cc", "+b.cc"}));
  EXPECT_EQ(lines({.prefix = "a", .globs = {"*.cc"}}), Lines{"+a/x.cc"});
}

TEST_F(Compare, ALinkInPlaceOfADirectoryIsNotFollowed) {
  write_text(base_ + "/outside/secret", "secret");
  write_text(lower_ + "/d/f", "f");
  fs::create_directory_symlink(base_ + "/outside", upper_ + "/d");
  EXPECT_EQ(lines(), (Lines{"~d", "-d/f"}));
}

TEST_F(Compare, FifosSocketsAndDevicesAreNamedAndNeverOpened) {
  write_text(lower_ + "/f", "1234");
  ASSERT_EQ(mkfifo((upper_ + "/f").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((upper_ + "/new").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((lower_ + "/kept").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((upper_ + "/kept").c_str(), 0600), 0);
  EXPECT_EQ(lines(), (Lines{"~f", "+new"}));
}

TEST_F(Compare, TooManyEntriesAndTooLongPathsAreErrors) {
  for (int i = 0; i < 10; ++i) write_text(upper_ + "/" + std::to_string(i), "x");
  const auto many = compare({.layers = {lower_}}, {upper_}, {.most_entries = 5});
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Errc::busy);
  UniqueFd at(open(upper_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name(200, 'd');
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0755), 0);
    at.reset(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const auto deep = compare({.layers = {lower_}}, {upper_});
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, Errc::invalid);
}

TEST_F(Compare, JsonHasTheFieldsAndSurvivesAnyName) {
  write_text(lower_ + "/f", "a\nb\n");
  write_text(upper_ + "/f", "a\nc\nd\n", 0755);
  write_text(upper_ + "/bad\xff", std::string("\0\1", 2));
  auto all = changes();
  ASSERT_TRUE(count_lines({.lower = {.layers = {lower_}}, .uppers = {upper_}}, all));
  const auto rows = nlohmann::json::parse(to_json(all));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["path_hex"], "626164ff");
  EXPECT_EQ(rows[0]["change"], "added");
  EXPECT_EQ(rows[0]["binary"], true);
  EXPECT_TRUE(rows[0]["size_before"].is_null());
  EXPECT_EQ(rows[1]["path"], "f");
  EXPECT_EQ(rows[1]["kind"], "file");
  EXPECT_EQ(rows[1]["mode_before"], "0644");
  EXPECT_EQ(rows[1]["mode"], "0755");
  EXPECT_EQ(rows[1]["size"], 6);
  EXPECT_EQ(rows[1]["lines_added"], 2);
  EXPECT_EQ(rows[1]["lines_removed"], 1);
}

}  // namespace
}  // namespace cove::changes
