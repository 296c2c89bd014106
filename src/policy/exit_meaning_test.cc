#include "policy/exit_meaning.h"

#include <gtest/gtest.h>

namespace cove::policy {
namespace {

std::string meaning(std::string_view text, int code) { return exit_meaning(parse_shell(text), code); }

bool says(std::string_view text, int code, std::string_view part) {
  return meaning(text, code).find(part) != std::string::npos;
}

TEST(ExitMeaning, KnowsCommandsForWhichOneIsAnAnswer) {
  EXPECT_TRUE(says("grep x f", 1, "No lines matched"));
  EXPECT_TRUE(says("/usr/bin/grep x f", 1, "No lines matched"));
  EXPECT_TRUE(says("rg x", 1, "No lines matched"));
  EXPECT_TRUE(says("grep x f", 2, "could not be read"));
  EXPECT_TRUE(says("diff a b", 1, "differ"));
  EXPECT_TRUE(says("test -f x", 1, "condition is false"));
  EXPECT_TRUE(says("[ -f x ]", 1, "condition is false"));
  EXPECT_TRUE(says("[[ -f x ]]", 1, "condition is false"));
  EXPECT_TRUE(says("find /", 1, "could not be read"));
  EXPECT_TRUE(says("curl x", 6, "resolved"));
  EXPECT_TRUE(says("curl x", 7, "listens"));
  EXPECT_TRUE(says("curl -f x", 22, "HTTP error"));
  EXPECT_TRUE(says("curl x", 28, "time limit"));
  EXPECT_TRUE(says("git diff --exit-code", 1, "differences"));
  EXPECT_TRUE(says("git grep x", 1, "No lines matched"));
  EXPECT_TRUE(says("git status", 128, "not a repository"));
  EXPECT_TRUE(says("make -q", 1, "up to date"));
  EXPECT_EQ(meaning("grep x f", 0), "");
  EXPECT_EQ(meaning("python x.py", 1), "");
  EXPECT_EQ(meaning("make", 1), "");
}

TEST(ExitMeaning, FindsTheCommandThatDecides) {
  EXPECT_TRUE(says("cd x; ls; grep x f", 1, "No lines matched"));
  EXPECT_TRUE(says("cat f | grep x", 1, "No lines matched"));
  EXPECT_TRUE(says("A=1 grep 'a | b; c && d' f", 1, "No lines matched"));
  EXPECT_TRUE(says("grep x f && echo found", 1, "No lines matched"));
  EXPECT_TRUE(says("cd x && diff a b", 1, "differ"));
  EXPECT_TRUE(says("(cd x; grep y z)", 1, "No lines matched"));
  EXPECT_TRUE(says("if a; then grep x f; fi", 1, "No lines matched"));
  EXPECT_TRUE(says("for f in *; do grep x $f; done", 1, "No lines matched"));
  EXPECT_TRUE(says("x=$(grep a b)", 1, "No lines matched"));
  EXPECT_TRUE(says("sudo env A=1 grep x f", 1, "No lines matched"));
  EXPECT_TRUE(says("sh -c 'a; grep x f'", 1, "No lines matched"));
  EXPECT_TRUE(says("grep x f # last\n", 1, "No lines matched"));
  EXPECT_TRUE(says("grep x <<E\na; b\nE\n", 1, "No lines matched"));
  EXPECT_EQ(meaning("grep x f; python y.py", 1), "");
  EXPECT_EQ(meaning("grep x f | python y.py", 1), "");
  EXPECT_EQ(meaning("grep x f || python y.py", 1), "");
  EXPECT_EQ(meaning("! grep x f", 1), "");
  EXPECT_EQ(meaning("grep x f; exit 1", 1), "");
  EXPECT_EQ(meaning("grep x f &", 1), "");
  EXPECT_EQ(meaning("if grep x f; then python y.py; fi", 1), "");
  EXPECT_EQ(meaning("set -e; grep x f; python y.py", 1), "");
  EXPECT_EQ(meaning("echo 'grep x'", 1), "");
  EXPECT_EQ(meaning("python -c 'grep'", 1), "");
  EXPECT_EQ(meaning("f() { grep x y; }; python z", 1), "");
}

TEST(ExitMeaning, KnowsTheShellsOwnCodes) {
  EXPECT_TRUE(says("anything", 126, "could not be run"));
  EXPECT_TRUE(says("anything", 127, "not found"));
  EXPECT_TRUE(says("anything", 137, "SIGKILL"));
  EXPECT_TRUE(says("anything", 137, "Usually"));
  EXPECT_TRUE(says("anything", 139, "SIGSEGV"));
  EXPECT_TRUE(says("anything", -9, "SIGKILL"));
  EXPECT_TRUE(says("anything", -64, "signal 64"));
  EXPECT_TRUE(says("set -e; x", 127, "not found"));
  EXPECT_TRUE(says("git frobnicate", 129, "option"));
  EXPECT_TRUE(says("timeout 1 sleep 5", 124, "'timeout'"));
  EXPECT_TRUE(says("sudo timeout 1 grep x f", 124, "'timeout'"));
  EXPECT_TRUE(says("timeout 1 grep x f", 1, "No lines matched"));
  EXPECT_EQ(meaning("anything", 124), "");
  EXPECT_EQ(meaning("anything", 255), "");
  EXPECT_EQ(meaning("", 1), "");
}

}  // namespace
}  // namespace cove::policy
