#include "changes/glob.h"

#include <gtest/gtest.h>

namespace cove::changes {
namespace {

bool matches(const std::string& pattern, const std::string& path) {
  const auto globs = Globs::make({pattern});
  EXPECT_TRUE(globs) << pattern;
  return globs && globs->match(path);
}

TEST(Globs, NoneMatchesEverything) { EXPECT_TRUE(Globs::make({})->match("a/b")); }

TEST(Globs, ANameMatchesInAnyDirectory) {
  EXPECT_TRUE(matches("*.cc", "a/b/c.cc"));
  EXPECT_FALSE(matches("*.cc", "a/b/c.h"));
  EXPECT_TRUE(matches("src", "src/main.cc"));
  EXPECT_TRUE(matches("src", "lib/src/main.cc"));
}

TEST(Globs, APathMatchesFromTheRootAndStarsStayInOneName) {
  EXPECT_TRUE(matches("src/*.cc", "src/a.cc"));
  EXPECT_FALSE(matches("src/*.cc", "src/deep/a.cc"));
  EXPECT_FALSE(matches("src/*.cc", "x/src/a.cc"));
  EXPECT_TRUE(matches("/a", "a"));
  EXPECT_FALSE(matches("/a", "b/a"));
  EXPECT_TRUE(matches("src/", "src/deep/a.cc"));
}

TEST(Globs, TwoStarsGoThroughDirectories) {
  EXPECT_TRUE(matches("src/**/a.cc", "src/a.cc"));
  EXPECT_TRUE(matches("src/**/a.cc", "src/x/y/a.cc"));
  EXPECT_TRUE(matches("src/**", "src/x/y"));
  EXPECT_FALSE(matches("src/**", "other/x"));
}

TEST(Globs, SetsAndEscapes) {
  EXPECT_TRUE(matches("[a-c]x", "bx"));
  EXPECT_FALSE(matches("[!a-c]x", "bx"));
  EXPECT_TRUE(matches("[]]", "]"));
  EXPECT_TRUE(matches("\\*", "*"));
  EXPECT_FALSE(matches("\\*", "a"));
  EXPECT_FALSE(Globs::make({"[a"}));
  EXPECT_FALSE(Globs::make({""}));
}

TEST(Globs, NoNameMakesMatchingSlow) {
  const std::string pattern = "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
  EXPECT_FALSE(matches(pattern, std::string(250, 'a')));
}

}  // namespace
}  // namespace cove::changes
