#include "policy/approval.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cove::policy {
namespace {

const Script kScript = parse_shell("git push origin main");

Question about_rule(std::string session = "s1") { return {.session = std::move(session), .rule = "push"}; }
Question about_commands(std::string session = "s1") { return {.session = std::move(session), .pattern = "git push *"}; }

Ask answering(std::optional<Answer> answer, int* asked = nullptr) {
  return [=](const Question&) {
    if (asked != nullptr) ++*asked;
    return answer;
  };
}

TEST(Approval, OnceIsAskedAgain) {
  Approvals approvals;
  int asked = 0;
  EXPECT_EQ(approvals.decide(about_rule(), kScript, answering(Answer::once, &asked)), Answer::once);
  EXPECT_EQ(approvals.decide(about_rule(), kScript, answering(Answer::once, &asked)), Answer::once);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(approvals.save(), "");
}

TEST(Approval, SessionHoldsUntilItEndsAndForNobodyElse) {
  Approvals approvals;
  int asked = 0;
  for (const Question& question : {about_rule(), about_commands()}) {
    EXPECT_EQ(approvals.decide(question, kScript, answering(Answer::session, &asked)), Answer::session);
    EXPECT_EQ(approvals.decide(question, kScript, answering(Answer::deny, &asked)), Answer::session);
  }
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(approvals.find(about_rule("s2"), kScript));
  approvals.end_session("s1");
  EXPECT_FALSE(approvals.find(about_rule(), kScript));
  EXPECT_EQ(approvals.save(), "");
}

TEST(Approval, AlwaysIsKeptAsText) {
  Approvals approvals;
  EXPECT_EQ(approvals.decide(about_rule(), kScript, answering(Answer::always)), Answer::always);
  EXPECT_EQ(approvals.decide({.session = "s2", .pattern = "npm install *"}, parse_shell("npm install x"),
                             answering(Answer::always)),
            Answer::always);
  EXPECT_EQ(approvals.save(), "command npm install *\nrule push\n");
  Approvals later;
  ASSERT_TRUE(later.load("# kept\n\n" + approvals.save()));
  EXPECT_EQ(later.find(about_rule("s9"), kScript), Answer::always);
  EXPECT_EQ(later.save(), approvals.save());
}

TEST(Approval, SilenceIsARefusal) {
  Approvals approvals;
  EXPECT_EQ(approvals.decide(about_rule(), kScript, answering(std::nullopt)), Answer::deny);
  EXPECT_EQ(approvals.decide(about_rule(), kScript, Ask()), Answer::deny);
  EXPECT_EQ(approvals.decide(about_rule(), kScript,
                             [](const Question&) -> std::optional<Answer> { throw std::runtime_error("gone"); }),
            Answer::deny);
}

TEST(Approval, APatternAllowsOnlyScriptsOfWhichItCoversEverything) {
  Approvals approvals;
  ASSERT_TRUE(approvals.load("command git push *\ncommand ls *\n"));
  const auto allowed = [&](std::string_view text) {
    return approvals.find({.session = "s", .rule = "x"}, parse_shell(text)).has_value();
  };
  EXPECT_TRUE(allowed("git push origin"));
  EXPECT_TRUE(allowed("ls; git push 2>&1 >/dev/null"));
  EXPECT_FALSE(allowed("git push; rm x"));
  EXPECT_FALSE(allowed("git push $(rm x)"));
  EXPECT_FALSE(allowed("git push > ~/.bashrc"));
  EXPECT_FALSE(allowed("{ git push; } > x"));
  EXPECT_FALSE(allowed("GIT_SSH_COMMAND=x git push"));
  EXPECT_FALSE(allowed("$(echo rm) x"));
  EXPECT_FALSE(allowed("git push 'x"));
  EXPECT_FALSE(allowed("ls() { rm x; }; ls"));
  EXPECT_FALSE(allowed(""));
}

TEST(Approval, ABrokenFileAllowsNothing) {
  Approvals approvals;
  ASSERT_TRUE(approvals.load("rule push\n"));
  const auto loaded = approvals.load("rule push\nallow everything\n");
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("line 2"), std::string::npos);
  EXPECT_FALSE(approvals.find(about_rule(), kScript));
  EXPECT_FALSE(approvals.load("rule a b\n"));
  EXPECT_FALSE(approvals.load("command \n"));
}

TEST(Approval, WhatCannotBeRememberedIsAllowedOnce) {
  Approvals approvals;
  EXPECT_EQ(approvals.decide({.session = "s"}, kScript, answering(Answer::always)), Answer::once);
  EXPECT_EQ(approvals.save(), "");
}

TEST(Approval, AnswersHaveNames) {
  for (const Answer each : {Answer::deny, Answer::once, Answer::session, Answer::always}) {
    EXPECT_EQ(answer_from(name(each)), each);
  }
  EXPECT_FALSE(answer_from("yes"));
}

}  // namespace
}  // namespace cove::policy
