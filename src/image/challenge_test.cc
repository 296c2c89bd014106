#include "image/challenge.h"

#include <gtest/gtest.h>

namespace {

using cove::image::parse_challenges;

TEST(Challenge, OfARegistryIsRead) {
  const auto all = parse_challenges(
      R"(Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push")");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].scheme, "bearer");
  EXPECT_EQ(all[0].parameter("realm"), "https://auth.example/token");
  EXPECT_EQ(all[0].parameter("scope"), "repository:a/b:pull,push");
  EXPECT_EQ(all[0].parameter("error"), "");
}

TEST(Challenge, SeveralStandInOneHeader) {
  const auto all = parse_challenges(R"(Basic realm="a \"quoted\" one", charset=UTF-8, BEARER Realm = "https://x/")");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].parameter("realm"), "a \"quoted\" one");
  EXPECT_EQ(all[0].parameter("charset"), "UTF-8");
  EXPECT_EQ(all[1].scheme, "bearer");
  EXPECT_EQ(all[1].parameter("realm"), "https://x/");
}

TEST(Challenge, NonsenseEndsWithoutHarm) {
  EXPECT_TRUE(parse_challenges("").empty());
  EXPECT_TRUE(parse_challenges("=x").empty());
  EXPECT_TRUE(parse_challenges("\"").empty());
  EXPECT_EQ(parse_challenges("Bearer realm=\"never ends").size(), 1U);
  std::string many;
  for (int i = 0; i < 10000; ++i) many += "A b=c, ";
  EXPECT_LT(parse_challenges(many).size(), 100U);
}

}  // namespace
