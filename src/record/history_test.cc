#include "record/history.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cove::record {
namespace {

namespace fs = std::filesystem;

class HistoryFile : public testing::Test {
 protected:
  HistoryFile() {
    std::string form = testing::TempDir() + "cove-history-XXXXXX";
    path_ = mkdtemp(form.data());
    directory_ = UniqueFd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~HistoryFile() override { fs::remove_all(path_); }

  History opened() const {
    auto history = History::open(directory_.get(), layers_);
    EXPECT_TRUE(history) << history.error().text();
    return std::move(*history);
  }
  // Command number n, which has made layer n.
  void add(History& history, const std::string& state = "same") {
    Done done;
    const std::string n = std::to_string(layers_.size());
    done.outcome.id = "c" + n;
    done.text = "make " + n;
    done.layers_before = layers_.size();
    done.layer = "l" + n;
    done.sessions_before =
        std::make_shared<const Sessions>(Sessions{{"default", state}, {"other", std::string("\0x", 2)}});
    layers_.push_back(done.layer);
    const auto added = history.add(std::move(done));
    EXPECT_TRUE(added) << added.error().text();
  }
  std::string file() const { return path_ + "/history"; }

  std::string path_;
  UniqueFd directory_;
  std::vector<std::string> layers_;
};

TEST_F(HistoryFile, ComesBackAsItWas) {
  {
    History history = opened();
    EXPECT_TRUE(history.all().empty());
    add(history, "one");
    add(history, "one");
    add(history, "two");
  }
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const History history = opened();
  ASSERT_EQ(history.all().size(), 3U);
  EXPECT_EQ(history.all()[1].outcome.id, "c1");
  EXPECT_EQ(history.all()[1].text, "make 1");
  EXPECT_EQ(history.all()[1].layer, "l1");
  EXPECT_EQ(history.all()[2].layers_before, 2U);
  EXPECT_EQ(history.all()[1].sessions_before->at("default"), "one");
  EXPECT_EQ(history.all()[1].sessions_before, history.all()[0].sessions_before) << "shared";
  EXPECT_EQ(history.all()[2].sessions_before->at("default"), "two");
  EXPECT_EQ(history.all()[2].sessions_before->at("other"), std::string("\0x", 2));
}

TEST_F(HistoryFile, WhatIsCutStaysAwayAndItGoesOn) {
  History history = opened();
  for (int i = 0; i < 5; ++i) add(history);
  ASSERT_TRUE(history.cut(2));
  layers_.resize(2);
  add(history, "later");
  const History again = opened();
  ASSERT_EQ(again.all().size(), 3U);
  EXPECT_EQ(again.all()[2].sessions_before->at("default"), "later");
  ASSERT_TRUE(history.cut(0));
  EXPECT_TRUE(opened().all().empty());
}

// Whatever the last write got done, the entries before it are there, and the next one is whole.
TEST_F(HistoryFile, OfAnEntryThatWasCutShortOrSpoiltNothingIsBelieved) {
  History whole = opened();
  add(whole, "first");
  const auto first = fs::file_size(file());
  add(whole, "second");
  const auto both = fs::file_size(file());
  for (auto size = first; size < both; ++size) {
    fs::resize_file(file(), size);
    fs::resize_file(file(), size % 2 == 0 ? size : both);  // zeros in place of the rest, as after a power cut
    History history = opened();
    ASSERT_EQ(history.all().size(), 1U) << size;
    EXPECT_EQ(fs::file_size(file()), first);
    layers_.resize(1);
    add(history, "second");
    ASSERT_EQ(opened().all().size(), 2U) << size;
  }
}

TEST_F(HistoryFile, AnyBytesAreAHistory) {
  std::srand(7);
  for (int i = 0; i < 300; ++i) {
    std::string bytes(static_cast<std::size_t>(std::rand() % 100), '\0');
    for (char& c : bytes) c = static_cast<char>(std::rand() % 4 == 0 ? std::rand() : 0);
    std::ofstream(file(), std::ios::binary) << bytes;
    EXPECT_TRUE(opened().all().empty());
  }
}

TEST_F(HistoryFile, WhatDoesNotFitTheLayersIsDroppedWithAllThatFollows) {
  History history = opened();
  for (int i = 0; i < 4; ++i) add(history);
  layers_.resize(3);  // the record was written, and then it was killed
  EXPECT_EQ(opened().all().size(), 3U);
  layers_ = {"l0", "other", "l2"};
  EXPECT_EQ(opened().all().size(), 1U);
  layers_ = {"l0", "l1", "l2", "l3", "nobody's"};
  EXPECT_EQ(opened().all().size(), 1U) << "what was dropped is gone";
}

TEST_F(HistoryFile, TheOldestGoWhenThereAreTooMany) {
  History history = opened();
  for (int i = 0; i < 11'001; ++i) add(history);
  EXPECT_EQ(history.all().size(), 10'000U);
  const History again = opened();
  ASSERT_EQ(again.all().size(), 10'000U);
  EXPECT_EQ(again.all().front().outcome.id, "c1001");
  EXPECT_EQ(again.all().back().outcome.id, "c11000");
}

TEST_F(HistoryFile, WithoutAPlaceItIsInMemory) {
  History history;
  add(history);
  add(history);
  ASSERT_TRUE(history.cut(1));
  EXPECT_EQ(history.all().size(), 1U);
  EXPECT_FALSE(fs::exists(file()));
}

}  // namespace
}  // namespace cove::record
