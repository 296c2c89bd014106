#include "terminal/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "terminal/full_output.h"

namespace cove::terminal {
namespace {

namespace fs = std::filesystem;

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/cove-output-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    home_ = path;
    setenv("COVE_HOME", path, 1);
  }
  void TearDown() override { fs::remove_all(home_); }
  static std::string slurp(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  fs::path home_;
};

TEST_F(OutputTest, IsTrimmedStrippedAndMasked) {
  Output output(1000);
  output.add("\n  \x1B[1mkey sk-abcdEFGH1234");
  output.add("abcdEFGH1234\x1B[0m \n\n");
  const auto rendered = output.finish({}, "");
  EXPECT_EQ(rendered.text, "key sk-***");
  EXPECT_FALSE(rendered.truncated);
  EXPECT_FALSE(fs::exists(home_ / "output"));
}

TEST_F(OutputTest, ALineAboutTheEndStandsOnItsOwn) {
  Output nothing(1000), some(1000);
  some.add("part\n");
  EXPECT_EQ(nothing.finish({}, "[Command interrupted]").text, "[Command interrupted]");
  EXPECT_EQ(some.finish({}, "[Command interrupted]").text, "part\n[Command interrupted]");
}

TEST_F(OutputTest, TheWholeIsInAPrivateFileWithoutSecrets) {
  Output output(1000);
  for (int i = 0; i < 400; ++i) output.add("line " + std::to_string(i) + " ghp_0123456789abcdefghijABCDEFGHIJ012345\n");
  const auto rendered = output.finish({}, "");
  ASSERT_TRUE(rendered.truncated);
  const std::string whole = slurp(rendered.full_path);
  EXPECT_NE(whole.find("line 200 ghp_***\n"), std::string::npos);
  EXPECT_EQ(whole.find("0123456789abc"), std::string::npos);
  EXPECT_EQ(count_chars(whole), rendered.total_chars + 1);
  struct stat about{};
  ASSERT_EQ(stat(rendered.full_path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((home_ / "output").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700U);
}

TEST_F(OutputTest, MemoryIsBoundedAndTheFileSaysWhatIsNotKept) {
  Output output(1000);
  const std::string line = std::string(99, 'x') + "\n";
  constexpr std::size_t kLines = 120'000;
  for (std::size_t i = 0; i < kLines; ++i) output.add(line);
  output.add("the end");
  const auto rendered = output.finish({}, "");
  EXPECT_TRUE(rendered.text.ends_with("the end"));
  EXPECT_NEAR(static_cast<double>(rendered.total_chars), static_cast<double>(kLines * 100 + 7), 3);
  const std::string whole = slurp(rendered.full_path);
  EXPECT_LT(whole.size(), kMostSavedChars + 100);
  EXPECT_NE(whole.find("more chars are not kept]"), std::string::npos);
}

// What is cut in two no longer looks like a secret; so words at a cut are not shown.
TEST_F(OutputTest, NoSecretShowsAtACut) {
  const std::string key = "sk-abcdEFGH1234abcdEFGH1234abcdEFGH1234 ";
  Output output(1000);
  for (std::size_t n = 0; n < 12'000'000; n += key.size()) output.add(key);
  const auto rendered = output.finish({}, "");
  EXPECT_EQ(rendered.text.find("EFGH"), std::string::npos);
  EXPECT_EQ(slurp(rendered.full_path).find("EFGH"), std::string::npos);
}

TEST_F(OutputTest, ADirectoryThatOthersMayReadIsNotUsed) {
  fs::create_directory(home_ / "output");
  chmod((home_ / "output").c_str(), 0755);
  EXPECT_FALSE(save_full_output({.text = "x"}));
  fs::remove(home_ / "output");
  fs::create_directory(home_ / "elsewhere");
  fs::create_symlink(home_ / "elsewhere", home_ / "output");
  EXPECT_FALSE(save_full_output({.text = "x"}));
}

TEST_F(OutputTest, OldFilesGo) {
  const auto first = save_full_output({.text = "old"});
  ASSERT_TRUE(first) << first.error().message;
  const timespec long_ago[2] = {{.tv_sec = 1'000'000, .tv_nsec = 0}, {.tv_sec = 1'000'000, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, first->c_str(), long_ago, 0), 0);
  const auto second = save_full_output({.text = "new"});
  ASSERT_TRUE(second);
  EXPECT_FALSE(fs::exists(*first));
  EXPECT_TRUE(fs::exists(*second));
}

}  // namespace
}  // namespace cove::terminal
