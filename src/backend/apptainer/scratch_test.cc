// With a program that only builds: it notes each call, and writes what it was asked for.

#include "backend/apptainer/scratch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace cove::apptainer {
namespace {

namespace fs = std::filesystem;

class ScratchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/cove-scratch-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    setenv("COVE_SCRATCH_DIR", (folder_ + "/scratch").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("COVE_SCRATCH_DIR");
    fs::remove_all(folder_);
  }
  engine::Program program(const std::string& script) const {
    std::ofstream(folder_ + "/program") << "#!/bin/sh\n" + script + "\n";
    fs::permissions(folder_ + "/program", fs::perms(0700));
    return engine::Program("apptainer", folder_ + "/program", {});
  }
  engine::Program builder() const { return program("echo call >>" + folder_ + "/calls; sleep 0.2; echo sif >\"$3\""); }
  std::size_t calls() const {
    std::ifstream file(folder_ + "/calls");
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }

  std::string folder_;
};

TEST_F(ScratchTest, AnImageIsBuiltOnceByManyAndAgainOnlyWhenAsked) {
  const auto scratch = Scratch::choose("/nowhere");
  ASSERT_TRUE(scratch) << scratch.error().text();
  const engine::Program apptainer = builder();
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] { EXPECT_TRUE(scratch->image(apptainer, "docker://x", "missing")); });
  for (std::thread& one : all) one.join();
  EXPECT_EQ(calls(), 1U);
  EXPECT_TRUE(scratch->image(apptainer, "docker://x", "never"));
  EXPECT_TRUE(scratch->image(apptainer, "docker://x", "always"));
  EXPECT_EQ(calls(), 2U);
  EXPECT_EQ(scratch->image(apptainer, "docker://y", "never").error().code, Errc::not_found);
}

TEST_F(ScratchTest, ABuildThatFailsLeavesNothingAndSaysWhy) {
  const auto scratch = Scratch::choose("/nowhere");
  ASSERT_TRUE(scratch) << scratch.error().text();
  const auto none = scratch->image(program("echo half >\"$3\"; echo 'FATAL:   unauthorized' >&2; exit 255"),
                                   "docker://private", "missing");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::denied) << none.error().text();
  for (const auto& entry : fs::directory_iterator(scratch->path() + "/images"))
    EXPECT_EQ(entry.path().extension(), ".lock") << entry.path();
}

TEST_F(ScratchTest, OnlyADirectoryOfOnesOwnIsTaken) {
  fs::create_directory_symlink("/tmp", folder_ + "/scratch");
  EXPECT_EQ(Scratch::choose("/nowhere").error().code, Errc::denied);
  setenv("COVE_SCRATCH_DIR", "relative", 1);
  EXPECT_EQ(Scratch::choose("/nowhere").error().code, Errc::invalid);
  setenv("COVE_SCRATCH_DIR", (folder_ + "/a,b").c_str(), 1);
  EXPECT_EQ(Scratch::choose("/nowhere").error().code, Errc::invalid);
  unsetenv("COVE_SCRATCH_DIR");
  EXPECT_FALSE(Scratch::find(folder_));
  const auto own = Scratch::choose(folder_);
  ASSERT_TRUE(own) << own.error().text();
  EXPECT_TRUE(own->path() == folder_ + "/apptainer" || own->path().starts_with("/scratch/")) << own->path();
  EXPECT_TRUE(Scratch::find(folder_));
}

}  // namespace
}  // namespace cove::apptainer
