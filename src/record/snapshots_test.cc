#include "record/snapshots.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "record/record.h"

namespace cove::record {
namespace {

namespace fs = std::filesystem;

class SnapshotsTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/cove-snapshots-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    home_ = path;
    setenv("COVE_HOME", path, 1);
  }
  void TearDown() override { fs::remove_all(home_); }

  static Snapshot snapshot(const std::string& tag, std::vector<std::string> layers = {"aa"}, std::int64_t created = 1) {
    return {.tag = tag,
            .sandbox = "s",
            .backend = "native",
            .image = "",
            .cwd = "/w",
            .layers = std::move(layers),
            .created_unix = created,
            .sessions = {{"default", std::string("a\0b", 3)}},
            .env = {{"K", "V"}}};
  }
  // As another program, or a crash, may have left it.
  void plant(const std::string& tag, const std::string& json) const {
    const fs::path directory = home_ / "snapshots" / tag;
    fs::create_directories(directory);
    chmod((home_ / "snapshots").c_str(), 0700);
    chmod(directory.c_str(), 0700);
    std::ofstream(directory / "snapshot.json") << json;
  }
  void make_layer(const std::string& name, int age_seconds) const {
    const fs::path path = home_ / "layers" / name;
    fs::create_directories(path / "root");
    chmod((home_ / "layers").c_str(), 0700);
    grow_old(path, age_seconds);
  }
  static void grow_old(const fs::path& path, int seconds) {
    const timespec past{std::time(nullptr) - seconds, 0}, times[2] = {past, past};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  std::set<std::string> in(const std::string& folder) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(home_ / folder)) names.insert(entry.path().filename());
    return names;
  }

  fs::path home_;
};

TEST_F(SnapshotsTest, WhatWasSavedIsFound) {
  ASSERT_TRUE(save_snapshot(snapshot("t", {"aa", "bb"}, 77)));
  const auto found = find_snapshot("t");
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->layers, (std::vector<std::string>{"aa", "bb"}));
  EXPECT_EQ(found->sessions, snapshot("t").sessions);
  EXPECT_EQ(found->env, snapshot("t").env);
  EXPECT_EQ(found->created_unix, 77);
  EXPECT_EQ(found->cwd, "/w");
}

TEST_F(SnapshotsTest, MemoryBecomesPartOfItAndGoesWithIt) {
  const auto directory = make_memory_directory();
  ASSERT_TRUE(directory) << directory.error().message;
  std::ofstream(*directory + "/image") << "bytes";
  Snapshot with = snapshot("a");
  with.memory = *directory;
  with.running = std::string("r\0n", 3);
  with.place.net = "host";
  with.place.env = {{"SECRET", "value"}};
  with.place.persistent = true;
  ASSERT_TRUE(save_snapshot(with));
  const auto found = find_snapshot("a");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(fs::exists(found->memory + "/image"));
  EXPECT_FALSE(fs::exists(*directory));
  EXPECT_EQ(found->running, with.running);
  EXPECT_EQ(found->place.net, "host");
  EXPECT_TRUE(found->place.env.empty()) << "values are in the memory, not beside it";
  ASSERT_TRUE(remove_snapshot("a"));
  EXPECT_EQ(in("snapshots"), std::set<std::string>{});
}

TEST_F(SnapshotsTest, WhatRunsGoesOnOnlyBehindTheWallsThatItKnows) {
  Snapshot with = snapshot("a");
  with.place.net = "host";
  with.place.memory_bytes = 1 << 20;
  EXPECT_TRUE(check_place({}, with));
  EXPECT_TRUE(check_place({.net = "host", .memory_bytes = 1 << 20}, with));
  const auto refused = check_place({.net = "none"}, with);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("leave --net out"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(check_place({.volumes = {"/a:/b"}}, with));
  EXPECT_FALSE(check_place({.memory_bytes = 2 << 20}, with));
}

TEST_F(SnapshotsTest, ATakenTagIsAConflictAndLeavesNothingAside) {
  ASSERT_TRUE(save_snapshot(snapshot("t")));
  const auto again = save_snapshot(snapshot("t", {"other"}));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::conflict);
  EXPECT_EQ(in("snapshots"), std::set<std::string>{"t"});
  EXPECT_EQ(find_snapshot("t")->layers, std::vector<std::string>{"aa"});
}

TEST_F(SnapshotsTest, ATagIsANameAndNoPath) {
  for (const std::string tag : {"", ".", "..", "../x", "a/b", "A", "-x", "a b", "a\n", ".."}) {
    EXPECT_FALSE(check_tag(tag)) << tag;
    EXPECT_FALSE(save_snapshot(snapshot(tag))) << tag;
    EXPECT_FALSE(find_snapshot(tag)) << tag;
    EXPECT_FALSE(remove_snapshot(tag)) << tag;
  }
  EXPECT_FALSE(check_tag(std::string("a\0b", 3)));
  EXPECT_TRUE(check_tag(std::string(63, 'a')));
  EXPECT_FALSE(check_tag(std::string(64, 'a')));
}

TEST_F(SnapshotsTest, TheOldestIsListedFirstAndHiddenOnesAreNot) {
  for (const auto& [tag, time] : {std::pair("b", 5), {"a", 5}, {"z", 1}, {".fork-x", 0}})
    ASSERT_TRUE(save_snapshot(snapshot(tag, {"aa"}, time)));
  const auto all = list_snapshots();
  ASSERT_TRUE(all);
  std::string order;
  for (const Snapshot& one : *all) order += one.tag;
  EXPECT_EQ(order, "zab");
  EXPECT_TRUE(find_snapshot(".fork-x"));
}

TEST_F(SnapshotsTest, AnUnknownTagIsToldWithThoseThatAreThere) {
  EXPECT_NE(find_snapshot("t").error().message.find("'cove snapshot NAME' makes one"), std::string::npos);
  ASSERT_TRUE(save_snapshot(snapshot("here")));
  EXPECT_EQ(find_snapshot("t").error().code, Errc::not_found);
  EXPECT_NE(find_snapshot("t").error().message.find("there are here"), std::string::npos);
  EXPECT_EQ(remove_snapshot("t").error().code, Errc::not_found);
}

TEST_F(SnapshotsTest, HostileJsonIsDamageAndNamesNoLayer) {
  const std::vector<std::string> hostile{
      "",
      "[",
      "[]",
      "null",
      "{}",
      R"({"layers": {}})",
      R"({"layers": "aa"})",
      R"({"layers": [1]})",
      R"({"layers": [null]})",
      R"({"layers": [["aa"]]})",
      R"({"layers": ["../../etc"]})",
      R"({"layers": ["a/b"]})",
      R"({"layers": [""]})",
      R"({"layers": ["."]})",
      R"({"layers": ["aa\u0000"]})",
      std::string(100'000, '['),
  };
  for (const std::string& json : hostile) {
    plant("t", json);
    const auto found = find_snapshot("t");
    ASSERT_FALSE(found) << json.substr(0, 50);
    EXPECT_NE(found.error().message.find("t"), std::string::npos);
    EXPECT_TRUE(list_snapshots()->empty());
  }
  plant("t", R"({"layers": ["aa"], "sandbox": 7, "created": "x", "image": [], "cwd": null})");
  const auto odd = find_snapshot("t");
  ASSERT_TRUE(odd) << odd.error().text();
  EXPECT_EQ(odd->sandbox, "");
  std::ofstream(home_ / "snapshots/t/sessions") << "\xff\xff\xff\xff\xff\xff";
  EXPECT_FALSE(find_snapshot("t"));
  EXPECT_TRUE(remove_snapshot("t")) << "what is damaged can be removed";
  EXPECT_EQ(in("snapshots"), std::set<std::string>{});
}

TEST_F(SnapshotsTest, ALinkInASnapshotsPlaceIsNotFollowed) {
  ASSERT_TRUE(save_snapshot(snapshot("real")));
  fs::create_directory_symlink("real", home_ / "snapshots/link");
  EXPECT_FALSE(find_snapshot("link"));
  EXPECT_TRUE(remove_snapshot("link"));
  EXPECT_TRUE(find_snapshot("real"));
}

TEST_F(SnapshotsTest, OnlyOldLayersThatNobodyStandsOnAreCleared) {
  ASSERT_TRUE(save_snapshot(snapshot("t", {"used", "more"})));
  SandboxSpec spec;
  spec.name = "s";
  spec.layers = {"mine"};
  const auto made = Record::create(spec);
  ASSERT_TRUE(made);
  for (const char* old : {"used", "more", "more.16", "mine", "mine.256", "none", "none.16", "apply-12",
                          ".half.merging-1", "used.16.new-7"})
    make_layer(old, 100);
  for (const char* fresh : {"fresh", "fresh.16", "more.16.new-8"}) make_layer(fresh, 0);
  const auto cleared = clear_layers();
  ASSERT_TRUE(cleared) << cleared.error().text();
  EXPECT_EQ(*cleared, 5U);
  EXPECT_EQ(in("layers"), (std::set<std::string>{"used", "more", "more.16", "mine", "mine.256", "fresh", "fresh.16",
                                                 "more.16.new-8"}));
}

TEST_F(SnapshotsTest, WhatWasGivenUpGoesAtOnceUnlessSomebodyElseStandsOnIt) {
  ASSERT_TRUE(save_snapshot(snapshot("t", {"used"})));
  for (const char* name : {"used", "gone", "gone.16", "other"}) make_layer(name, 0);
  ASSERT_TRUE(clear_layers({"used", "gone"}));
  EXPECT_EQ(in("layers"), (std::set<std::string>{"used", "other"}));
}

// A snapshot that cannot be read may stand on anything.
TEST_F(SnapshotsTest, NothingIsClearedWhileARecordIsDamaged) {
  plant("broken", "{");
  make_layer("old", 100);
  const auto cleared = clear_layers();
  ASSERT_FALSE(cleared);
  EXPECT_NE(cleared.error().message.find("broken"), std::string::npos) << cleared.error().text();
  EXPECT_EQ(in("layers"), std::set<std::string>{"old"});
}

TEST_F(SnapshotsTest, WhatIsOursInPassingGoesAfterAnHour) {
  ASSERT_TRUE(save_snapshot(snapshot(".fork-old", {"aa"})));
  ASSERT_TRUE(save_snapshot(snapshot(".fork-new", {"bb"})));
  plant(".new-cut", "");
  plant(".new-young", "");
  grow_old(home_ / "snapshots/.fork-old", 4000);
  grow_old(home_ / "snapshots/.new-cut", 4000);
  make_layer("aa", 100);
  make_layer("bb", 100);
  ASSERT_TRUE(clear_layers());
  EXPECT_EQ(in("snapshots"), (std::set<std::string>{".fork-new", ".new-young"}));
  EXPECT_EQ(in("layers"), std::set<std::string>{"bb"});
}

TEST_F(SnapshotsTest, LayerIdsAreNamesAndDiffer) {
  EXPECT_NE(new_layer_id(), new_layer_id());
  EXPECT_TRUE(check_name(new_layer_id()));
}

}  // namespace
}  // namespace cove::record
