#include "changes/lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace cove::changes {
namespace {

std::string random_text(std::mt19937& random, int most) {
  std::string text;
  for (int i = static_cast<int>(random() % static_cast<unsigned>(most)); i > 0; --i)
    text += static_cast<char>('a' + random() % 4), text += '\n';
  if (!text.empty() && random() % 4 == 0) text.pop_back();
  return text;
}

std::string applied(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
                    const std::vector<Edit>& edits) {
  std::string text;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    for (; at < edit.a_begin; ++at) text += a[at];
    for (std::size_t j = edit.b_begin; j < edit.b_end; ++j) text += b[j];
    at = edit.a_end;
  }
  for (; at < a.size(); ++at) text += a[at];
  return text;
}

std::size_t cost(const std::vector<Edit>& edits) {
  std::size_t sum = 0;
  for (const Edit& edit : edits) sum += edit.a_end - edit.a_begin + edit.b_end - edit.b_begin;
  return sum;
}

// By the book: lines that are not in a longest common subsequence.
std::size_t least(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return a.size() + b.size() - 2 * best[a.size()][b.size()];
}

TEST(DiffLines, IsRightAndShortestForRandomTexts) {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const std::string one = random_text(random, 40), two = random_text(random, 40);
    const auto a = split_lines(one), b = split_lines(two);
    const auto edits = diff_lines(a, b);
    ASSERT_EQ(applied(a, b, edits), two) << one << "---\n" << two;
    ASSERT_EQ(cost(edits), least(a, b)) << one << "---\n" << two;
  }
}

TEST(DiffLines, IsRightWithoutTheTimeToBeShortest) {
  std::mt19937 random(8);
  for (int i = 0; i < 1000; ++i) {
    const std::string one = random_text(random, 60), two = random_text(random, 60);
    const auto a = split_lines(one), b = split_lines(two);
    ASSERT_EQ(applied(a, b, diff_lines(a, b, random() % 300)), two);
  }
}

TEST(DiffLines, LargeTextsThatShareNothingTakeBoundedTime) {
  std::string one, two;
  for (int i = 0; i < 300'000; ++i) one += "a" + std::to_string(i) + "\n", two += "b" + std::to_string(i) + "\n";
  const auto a = split_lines(one), b = split_lines(two);
  EXPECT_EQ(cost(diff_lines(a, b)), 600'000U);
}

TEST(Unified, HunksHaveThreeLinesOfContext) {
  const std::string one = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  EXPECT_EQ(unified(one, "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  EXPECT_EQ(unified(one, one), "");
  EXPECT_EQ(unified("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
  EXPECT_EQ(unified("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
}

TEST(Unified, SaysWhereTheLastNewlineIsMissing) {
  EXPECT_EQ(unified("a\nb", "a\nb\n"), "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
  EXPECT_EQ(unified("x\nb", "y\nb"), "@@ -1,2 +1,2 @@\n-x\n+y\n b\n\\ No newline at end of file\n");
}

}  // namespace
}  // namespace cove::changes
