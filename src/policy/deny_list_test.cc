#include "policy/deny_list.h"

#include <gtest/gtest.h>

#include "policy/glob_match.h"

namespace cove::policy {
namespace {

bool denied(const std::vector<std::string>& patterns, std::string_view text) {
  const auto list = DenyList::make(patterns);
  EXPECT_TRUE(list) << list.error().message;
  return list && list->judge(parse_shell(text)).refused;
}

TEST(DenyList, MatchesCommandsNotText) {
  EXPECT_TRUE(denied({"git push *"}, "git push"));
  EXPECT_TRUE(denied({"git push *"}, "cd x && git push origin main"));
  EXPECT_TRUE(denied({"git push *"}, "GIT PUSH"));
  EXPECT_TRUE(denied({"git push *"}, "g'i't \"push\" x"));
  EXPECT_TRUE(denied({"git push *"}, "sudo sh -c 'git push x'"));
  EXPECT_TRUE(denied({"git push *"}, "echo $(git push x)"));
  EXPECT_FALSE(denied({"git push *"}, "echo git push x"));
  EXPECT_FALSE(denied({"git push *"}, "echo 'git push x' # git push x"));
  EXPECT_FALSE(denied({"git push *"}, "git commit -m 'git push x'"));
  EXPECT_FALSE(denied({"git push *"}, "git pull"));
  EXPECT_FALSE(denied({"*rm -rf*"}, "echo \"x; rm -rf /\""));
}

TEST(DenyList, AWordAloneForbidsTheCommandWithAnyArguments) {
  EXPECT_TRUE(denied({"curl"}, "curl http://x"));
  EXPECT_TRUE(denied({"curl"}, "/usr/bin/curl"));
  EXPECT_TRUE(denied({"mkfs*"}, "mkfs.ext4 x"));
  EXPECT_TRUE(denied({"sudo"}, "sudo ls"));
  EXPECT_FALSE(denied({"curl"}, "echo curl"));
  EXPECT_FALSE(denied({"curl"}, "curlie x"));
}

TEST(DenyList, StarsStayInTheirWordUnlessAlone) {
  EXPECT_TRUE(denied({"git push --force*"}, "git push --force-with-lease origin x"));
  EXPECT_TRUE(denied({"git * --force *"}, "git push a b --force c"));
  EXPECT_TRUE(denied({"git * --force"}, "git push a --force"));
  EXPECT_FALSE(denied({"git * --force"}, "git push a --force b"));
  EXPECT_TRUE(denied({"rm -?f x"}, "rm -rf x"));
  EXPECT_FALSE(denied({"rm -rf"}, "rm -rf x"));
  EXPECT_TRUE(denied({"*/deploy.sh prod"}, "./a/deploy.sh prod"));
  EXPECT_TRUE(denied({"echo a\\ b"}, "echo 'a b'"));
  EXPECT_TRUE(denied({"* --prod"}, "deploy x --prod"));
}

TEST(DenyList, IsUnsureWhereOnlyAShellKnows) {
  const auto list = DenyList::make({"curl *"});
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->judge(parse_shell("$(echo curl) x")).unsure);
  EXPECT_TRUE(list->judge(parse_shell("echo 'x")).unsure);
  EXPECT_FALSE(list->judge(parse_shell("echo $x")).unsure);
  EXPECT_FALSE(DenyList::make({})->judge(parse_shell("echo 'x")).unsure);
}

TEST(DenyList, BadPatternsAreNamed) {
  const auto list = DenyList::make({"a", "  "});
  ASSERT_FALSE(list);
  EXPECT_NE(list.error().message.find("deny pattern 2"), std::string::npos);
  EXPECT_FALSE(DenyList::make({"a\nb"}));
  EXPECT_FALSE(DenyList::make({std::string(5000, 'a')}));
}

TEST(DenyList, TheVerdictSaysCommandAndPattern) {
  const Verdict verdict = DenyList::make({"git push *"})->judge(parse_shell("git push origin"));
  EXPECT_EQ(verdict.rule, "deny: git push *");
  EXPECT_NE(verdict.sentence.find("'git push origin'"), std::string::npos);
}

TEST(DenyList, AnExactPatternMatchesOnlyItsCommand) {
  const Script script = parse_shell("echo 'a  b' '*' '[x' \\\\");
  const auto pattern = CommandPattern::make(exact_pattern(script.commands.at(0)));
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->match(script.commands[0]));
  EXPECT_FALSE(pattern->match(parse_shell("echo 'a  b' c '[x' \\\\").commands.at(0)));
  EXPECT_FALSE(pattern->match(parse_shell("echo 'a  b' '*' '[x' \\\\ d").commands.at(0)));
}

TEST(GlobMatch, KnowsTheUsualPatterns) {
  EXPECT_TRUE(glob_match("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(glob_match("a*b*c", "aXbYbZ"));
  EXPECT_TRUE(glob_match("[a-c]?[!x]", "bqy"));
  EXPECT_FALSE(glob_match("[!a]", "a"));
  EXPECT_TRUE(glob_match("[]]", "]"));
  EXPECT_TRUE(glob_match("[a", "[a"));
  EXPECT_TRUE(glob_match("\\*", "*"));
  EXPECT_FALSE(glob_match("\\*", "x"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("A[B]", "ab", LetterCase::ignored));
  EXPECT_FALSE(glob_match(std::string(40, '*') + "b", std::string(100'000, 'a')));
}

}  // namespace
}  // namespace cove::policy
