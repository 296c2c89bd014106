#include "session/declarations.h"

#include <gtest/gtest.h>

#include <string>

namespace cove::session {
namespace {

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> found;
  for (const Declaration& entry : split_declarations(text)) found.emplace_back(entry.name);
  return found;
}

using Names = std::vector<std::string>;

TEST(Declarations, EntriesOfBashEndOutsideQuotes) {
  EXPECT_EQ(names("declare -- A=\"x\ndeclare -- NOT=1\"\ndeclare -x B=$'it\\'s\\n'\n"), (Names{"A", "B"}));
}

TEST(Declarations, ArraysAndDeclarationsWithoutValueHaveNames) {
  EXPECT_EQ(names("declare -a L=([0]=\"a b\" [1]=$'c\\nd')\ndeclare -x OLDPWD\ndeclare -Ai M=([$'k\\nl']=\"1\" )\n"),
            (Names{"L", "OLDPWD", "M"}));
}

TEST(Declarations, SingleQuotesOfPosixShellsHoldNewlines) {
  EXPECT_EQ(names("A='x\nB=1'\nexport C='it'\"'\"'s'\nalias ll='ls -l'\nD=plain\n"), (Names{"A", "C", "ll", "D"}));
}

TEST(Declarations, TornTextDoesNotRunAway) {
  EXPECT_EQ(names("declare -- A=\"never closed"), (Names{"A"}));
  EXPECT_EQ(names("declare -"), (Names{}));
  EXPECT_EQ(names("\n\n=\n"), (Names{}));
  EXPECT_EQ(names("A='x\\"), (Names{"A"}));
}

}  // namespace
}  // namespace cove::session
