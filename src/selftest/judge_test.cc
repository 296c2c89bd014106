#include "selftest/judge.h"

#include <gtest/gtest.h>

#include <csignal>

namespace cove::selftest {
namespace {

Ran exited(int code, std::string output) {
  return {.ending = Ending::exited, .code = code, .output = std::move(output)};
}

TEST(Judge, TheActsOwnWordDecides) {
  EXPECT_EQ(judge(exited(0, "did")).finding, Finding::broken);
  EXPECT_EQ(judge(exited(1, "refused")).finding, Finding::held);
  EXPECT_EQ(judge(exited(3, "absent")).finding, Finding::not_applicable);
}

TEST(Judge, WhatDidNotTakePlaceHasNotHeld) {
  EXPECT_EQ(judge(exited(127, "not found")).finding, Finding::broken);
  EXPECT_EQ(judge(exited(2, "no such act")).finding, Finding::broken);
  EXPECT_EQ(judge({.trouble = "the keeper has not answered in time"}).finding, Finding::broken);
  EXPECT_EQ(judge({.ending = Ending::timeout, .code = 124}).finding, Finding::broken);
  EXPECT_EQ(judge({.ending = Ending::signaled, .code = 139, .signal = SIGSEGV}).finding, Finding::broken);
  EXPECT_EQ(judge_secret(exited(127, "cat: not found"), "secret").finding, Finding::broken);
  EXPECT_EQ(judge_outside(exited(126, ""), false, "").finding, Finding::broken);
}

TEST(Judge, DeathByTheFilterIsAWall) {
  EXPECT_EQ(judge({.ending = Ending::signaled, .code = 159, .signal = SIGSYS}).finding, Finding::held);
}

TEST(Judge, ASecretThatCameOutIsBrokenWhateverTheActSays) {
  EXPECT_EQ(judge_secret(exited(1, "x secret y"), "secret").finding, Finding::broken);
  EXPECT_EQ(judge_secret(exited(0, "something else"), "secret").finding, Finding::held);
}

TEST(Judge, WhatWasSeenOutsideDecides) {
  EXPECT_EQ(judge_outside(exited(1, "refused"), true, "seen").finding, Finding::broken);
  EXPECT_EQ(judge_outside(exited(0, "did"), false, "seen").finding, Finding::held);
}

TEST(Judge, DetailsHoldNoControlCharacters) {
  EXPECT_EQ(clean_line("a\033[2Jb\r\nsecond line"), "a?[2Jb");
  EXPECT_EQ(clean_line(std::string(5000, 'x')).size(), 200U);
}

}  // namespace
}  // namespace cove::selftest
