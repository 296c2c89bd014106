#include "cli/arguments.h"

#include <gtest/gtest.h>

#include "cli/completion.h"

namespace cove::cli {
namespace {

using Words = std::vector<std::string>;

constexpr Command kTest{.name = "test",
                        .usage = "NAME [OPTIONS] [--] COMMAND",
                        .summary = "A test",
                        .examples = "  cove test t true",
                        .run = nullptr,
                        .describe = nullptr};

struct Parsed {
  std::optional<int> code;
  bool json = false, interactive = false, terminal = false;
  std::string name, session;
  Words env, rest;
  std::chrono::milliseconds timeout{0};
};

Parsed parse(Words words) {
  Parsed parsed;
  Arguments arguments(kTest);
  arguments.flag("--json", parsed.json, "");
  arguments.flag("-i", parsed.interactive, "");
  arguments.flag("-t", parsed.terminal, "");
  arguments.text("--session", parsed.session, "S", "");
  arguments.texts("-e,--env", parsed.env, "K=V", "");
  arguments.duration("--timeout", parsed.timeout, "");
  arguments.positional("NAME", parsed.name, Need::required, "");
  arguments.rest("COMMAND", parsed.rest, Need::required);
  parsed.code = arguments.parse(std::move(words));
  return parsed;
}

TEST(Arguments, EndAtTheFirstWordOfTheCommand) {
  const Parsed parsed = parse({"t", "ls", "-la", "--json"});
  EXPECT_FALSE(parsed.code);
  EXPECT_FALSE(parsed.json);
  EXPECT_EQ(parsed.rest, (Words{"ls", "-la", "--json"}));
}

TEST(Arguments, MayStandBeforeAndAfterTheName) {
  const Parsed parsed = parse({"--timeout", "5m", "t", "--json", "--session=a", "echo", "hi"});
  EXPECT_FALSE(parsed.code);
  EXPECT_TRUE(parsed.json);
  EXPECT_EQ(parsed.name, "t");
  EXPECT_EQ(parsed.session, "a");
  EXPECT_EQ(parsed.timeout, std::chrono::minutes(5));
  EXPECT_EQ(parsed.rest, (Words{"echo", "hi"}));
}

TEST(Arguments, EndAtTwoDashes) {
  const Parsed parsed = parse({"t", "--", "--json", "--", "x"});
  EXPECT_FALSE(parsed.code);
  EXPECT_FALSE(parsed.json);
  EXPECT_EQ(parsed.rest, (Words{"--json", "--", "x"}));
}

TEST(Arguments, CountTheValueOfAShortOptionInEverySpelling) {
  const Parsed parsed = parse({"t", "-it", "-e", "A=1", "-eB=2", "--env", "C=3", "sh", "-e"});
  EXPECT_FALSE(parsed.code);
  EXPECT_TRUE(parsed.interactive);
  EXPECT_TRUE(parsed.terminal);
  EXPECT_EQ(parsed.env, (Words{"A=1", "B=2", "C=3"}));
  EXPECT_EQ(parsed.rest, (Words{"sh", "-e"}));
}

TEST(Arguments, KeepAnEmptyCommand) {
  const Parsed parsed = parse({"t", ""});
  EXPECT_FALSE(parsed.code);
  EXPECT_EQ(parsed.rest, (Words{""}));
}

TEST(Arguments, ThatAreWrongAreUsageErrors) {
  for (const Words& words :
       {Words{}, Words{"t"}, Words{"t", "--"}, Words{"t", "--jsno", "ls"}, Words{"t", "--timeout", "0", "ls"},
        Words{"t", "--timeout", "-5", "ls"}, Words{"t", "--timeout", "5x", "ls"}}) {
    testing::internal::CaptureStderr();
    const Parsed parsed = parse(words);
    EXPECT_EQ(parsed.code.value_or(0), kUsageError);
    EXPECT_TRUE(testing::internal::GetCapturedStderr().starts_with("cove: "));
  }
}

TEST(Arguments, NameTheOptionOfABadValue) {
  testing::internal::CaptureStderr();
  parse({"t", "--timeout", "5x", "ls"});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("--timeout: '5x'"), std::string::npos) << said;
}

TEST(Completion, KnowsEveryVisibleCommandAndItsOptions) {
  const std::string script = bash_completion();
  for (const Command& command : commands()) {
    const bool there = script.find("    " + std::string(command.name) + ") options=") != std::string::npos;
    EXPECT_EQ(there, command.visible == Visible::yes) << command.name;
  }
  EXPECT_NE(script.find("--idle-timeout"), std::string::npos);
  EXPECT_NE(zsh_completion().find("#compdef cove"), std::string::npos);
}

TEST(Commands, HaveExamplesInTheirHelp) {
  for (const Command& command : commands()) {
    if (command.visible == Visible::no || command.name == "version") continue;
    EXPECT_FALSE(command.examples.empty()) << command.name;
    EXPECT_FALSE(command.summary.empty()) << command.name;
  }
}

}  // namespace
}  // namespace cove::cli
