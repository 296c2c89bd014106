#include "record/record.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <set>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "record/json.h"
#include "record/spec_json.h"
#include "spec/filled_spec.h"

namespace cove::record {
namespace {

namespace fs = std::filesystem;

class RecordTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/cove-record-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    home_ = path;
    setenv("COVE_HOME", path, 1);
  }
  void TearDown() override { fs::remove_all(home_); }

  static SandboxSpec spec_named(const std::string& name) {
    SandboxSpec spec;
    spec.name = name;
    return spec;
  }
  fs::path file(const std::string& name, const std::string& file) const { return home_ / "sandboxes" / name / file; }
  void overwrite(const std::string& name, const std::string& file_name, const std::string& text) const {
    std::ofstream(file(name, file_name)) << text;
  }

  fs::path home_;
};

TEST_F(RecordTest, ARecordIsRunningWhileItsMakerHoldsIt) {
  const auto made = Record::create(spec_named("a"));
  ASSERT_TRUE(made) << made.error().message;
  const auto info = Record::open("a")->info();
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->life, Life::running);
  EXPECT_EQ(info->keeper_pid, getpid());
}

TEST_F(RecordTest, ATakenNameIsAConflict) {
  const auto made = Record::create(spec_named("a"));
  const auto again = Record::create(spec_named("a"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::conflict);
  EXPECT_NE(again.error().message.find("running"), std::string::npos) << again.error().message;
}

TEST_F(RecordTest, ADeadOwnedRecordIsClearedByListAndByCreate) {
  SandboxSpec spec = spec_named("a");
  spec.owned = true;
  { const auto made = Record::create(spec); }
  ASSERT_TRUE(fs::exists(file("a", "spec.json")));
  EXPECT_TRUE(Record::create(spec));
  EXPECT_TRUE(list()->empty());
  EXPECT_FALSE(fs::exists(file("a", "spec.json")));
}

TEST_F(RecordTest, ADeadCreatedRecordStaysAndTellsWhy) {
  {
    const auto made = Record::create(spec_named("a"));
    ASSERT_TRUE(made->write_status(Life::failed, "idle for 3 s"));
  }
  const auto all = list();
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->at(0).life, Life::failed);
  EXPECT_EQ(all->at(0).why, "idle for 3 s");
}

TEST_F(RecordTest, AKilledPersistentSandboxCanBeStartedAgain) {
  SandboxSpec spec = spec_named("a");
  spec.persistent = true;
  { const auto made = Record::create(spec); }
  EXPECT_EQ(Record::open("a")->info()->life, Life::stopped);
  const auto again = Record::lock("a");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(Record::lock("a").error().code, Errc::conflict);
}

TEST_F(RecordTest, ATornStatusIsAFailureThatSaysSo) {
  { const auto made = Record::create(spec_named("a")); }
  overwrite("a", "status.json", "{\"life\": \"sto");
  const auto info = Record::open("a")->info();
  EXPECT_EQ(info->life, Life::failed);
  EXPECT_NE(info->why.find("status.json"), std::string::npos);
}

TEST_F(RecordTest, JunkDoesNotBreakTheList) {
  const auto made = Record::create(spec_named("a"));
  std::ofstream(home_ / "sandboxes" / "file") << "x";
  fs::create_directory(home_ / "sandboxes" / "Bad Name");
  fs::create_directory(home_ / "sandboxes" / "empty");
  fs::permissions(home_ / "sandboxes" / "empty", fs::perms::owner_all);
  fs::create_symlink("/etc", home_ / "sandboxes" / "link");
  const auto all = list();
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->at(1).name, "empty");
  EXPECT_EQ(all->at(1).life, Life::failed);
}

TEST_F(RecordTest, AHomeThatOthersMayWriteIsRefused) {
  fs::permissions(home_, fs::perms::all);
  const auto refused = home();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
  EXPECT_NE(refused.error().message.find("chmod"), std::string::npos);
}

TEST_F(RecordTest, AHomeOfSomebodyElseIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  ASSERT_EQ(chown(home_.c_str(), 12345, 12345), 0);
  const auto refused = home();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("12345"), std::string::npos);
}

TEST_F(RecordTest, AnUnknownNameIsNotFoundAndNearOnesAreTold) {
  const auto made = Record::create(spec_named("otter"));
  const auto missing = Record::open("oter");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_NE(missing.error().message.find("otter"), std::string::npos);
}

TEST_F(RecordTest, NamesAreChecked) {
  for (const char* bad : {"", "A", "a b", "../a", ".a", "-a", "a/b"}) EXPECT_FALSE(check_name(bad)) << bad;
  EXPECT_FALSE(check_name(std::string(64, 'a')));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(check_name(make_name()));
}

TEST_F(RecordTest, AnyTextHasANameOfItsOwn) {
  EXPECT_EQ(name_for("plain-1"), "plain-1");
  EXPECT_TRUE(name_for("Task/ü 1").starts_with("task-1-"));
  const std::vector<std::string> odd{"", "..", "A", "a/b", "a b", "-x", std::string(500, 'x'), std::string(501, 'x'),
                                     "ä"};
  std::set<std::string> names;
  for (const std::string& text : odd) {
    EXPECT_TRUE(check_name(name_for(text))) << text << " is " << name_for(text);
    names.insert(name_for(text));
  }
  EXPECT_EQ(names.size(), odd.size());
}

TEST_F(RecordTest, ASocketBelowAVeryLongPathWorks) {
  const std::string deep = home_.string() + "/" + std::string(200, 'd');
  setenv("COVE_HOME", deep.c_str(), 1);
  const auto made = Record::create(spec_named("a"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(Record::open("a")->connect().error().code, Errc::disconnected);
  const auto listening = made->listen();
  ASSERT_TRUE(listening) << listening.error().message;
  const auto connected = Record::open("a")->connect();
  EXPECT_TRUE(connected) << connected.error().message;
}

TEST_F(RecordTest, TheJournalTellsEndsAndLossesInOrder) {
  {
    const auto made = Record::create(spec_named("a"));
    ASSERT_TRUE(made->note_started("one"));
    ASSERT_TRUE(made->note_started("two"));
    proto::Outcome outcome;
    outcome.id = "one";
    outcome.ending = proto::Ending::timeout;
    outcome.exit_code = 124;
    outcome.cwd = "/tmp/\xff";
    ASSERT_TRUE(made->note_ended(outcome));
  }
  std::ofstream(file("a", "journal"), std::ios::app) << "{\"start\":\"thr";
  const auto all = Record::open("a")->journal();
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->at(0).id, "one");
  EXPECT_EQ(all->at(0).ending, proto::Ending::timeout);
  EXPECT_EQ(all->at(0).exit_code, 124);
  EXPECT_EQ(all->at(1).ending, proto::Ending::lost);
}

TEST_F(RecordTest, ALineAfterATornOneIsKept) {
  { const auto made = Record::create(spec_named("a")); }
  std::ofstream(file("a", "journal")) << "{\"start\":\"on";
  const auto locked = Record::lock("a");
  ASSERT_TRUE(locked->note_started("two"));
  ASSERT_EQ(locked->journal()->size(), 1U);
  EXPECT_EQ(locked->journal()->at(0).id, "two");
}

TEST_F(RecordTest, ForwardedValuesAreNeverOnDisk) {
  SandboxSpec spec = spec_named("a");
  spec.persistent = true;
  spec.env = {{"PLAIN", "kept"}, {"SECRET", "hush"}};
  spec.env_names_forwarded = {"SECRET"};
  const auto made = Record::create(spec);
  std::ifstream in(file("a", "spec.json"));
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_NE(text.find("kept"), std::string::npos);
  EXPECT_EQ(text.find("hush"), std::string::npos);
  EXPECT_EQ(made->spec()->env, (std::vector<std::pair<std::string, std::string>>{{"PLAIN", "kept"}, {"SECRET", ""}}));
  EXPECT_EQ(made->info()->spec.env[0].second, "");
}

TEST_F(RecordTest, SessionsOfAnyNameAreKeptByteExact) {
  const auto made = Record::create(spec_named("a"));
  const std::string odd("a/b\n\0c", 6);
  ASSERT_TRUE(made->save_session(odd, std::string("x\0y", 3)));
  ASSERT_TRUE(made->save_session("", "default"));
  ASSERT_TRUE(made->save_session("", "default again"));
  auto saved = made->sessions();
  ASSERT_EQ(saved->size(), 2U);
  std::sort(saved->begin(), saved->end());
  EXPECT_EQ(saved->at(0).second, "default again");
  EXPECT_EQ(saved->at(1), (std::pair(odd, std::string("x\0y", 3))));
}

TEST_F(RecordTest, ARunningRecordIsNotRemovedByAnother) {
  const auto made = Record::create(spec_named("a"));
  EXPECT_EQ(Record::open("a")->remove().error().code, Errc::conflict);
}

TEST_F(RecordTest, RemoveLeavesNothing) {
  auto made = Record::create(spec_named("a"));
  ASSERT_TRUE(made->save_session("", "x"));
  ASSERT_TRUE(made->remove());
  EXPECT_TRUE(fs::is_empty(home_ / "sandboxes"));
  EXPECT_TRUE(made->remove());
}

TEST_F(RecordTest, RemoveManagesDepthsAndModesThatASandboxLeft) {
  auto made = Record::create(spec_named("a"));
  UniqueFd at(openat(made->directory(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 1100; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0700), 0);
    ASSERT_EQ(mkdirat(at.get(), ".moved-1", 0), 0);
    at.reset(openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const auto removed = made->remove();
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fs::is_empty(home_ / "sandboxes"));
}

TEST(SpecJson, EveryFieldThatIsStoredSurvivesTheDisk) {
  const SandboxSpec spec = testing_helpers::filled_spec();
  const auto again = spec_from_json(spec_to_json({.spec = spec, .created_unix = 7, .writing = 3}));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->created_unix, 7);
  EXPECT_EQ(spec_fields_json(again->spec), spec_fields_json(spec));
  EXPECT_EQ(again->spec.from, "");
}

TEST(SpecJson, ARecordOfVersion1IsRead) {
  const auto spec = spec_from_json(R"({"version": 1, "name": "a", "backend": "microvm", "kernel": "/k", "accel": "",
    "forwarded": ["KEY"], "env": [["KEY"], ["A", "b"]]})");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->spec.option("kernel"), "/k");
  EXPECT_EQ(spec->spec.options.size(), 1U);
  EXPECT_EQ(spec->spec.env_names_forwarded, std::vector<std::string>{"KEY"});
}

}  // namespace
}  // namespace cove::record
