#include "cli/live.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cove::cli {
namespace {

using std::chrono::milliseconds;

JsonResult result_of(Ending ending, const std::string& output) {
  JsonResult result;
  result.outcome.ending = ending;
  result.outcome.id = "c1";
  result.output.add(output);
  result.timeout = milliseconds(1000);
  return result;
}

std::string output_of(const JsonResult& result) { return nlohmann::json::parse(to_json(result)).at("output"); }

TEST(JsonResult, HasItsKeysInTheOrderOfTheContract) {
  const auto json = nlohmann::ordered_json::parse(to_json(result_of(Ending::exited, "hi\n")));
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  const std::vector<std::string> expected{"output",      "exit_code",    "outcome",   "signal", "cwd",
                                          "duration_ms", "output_bytes", "truncated", "id"};
  EXPECT_EQ(keys, expected);
}

TEST(JsonResult, AddsTheTimeoutNoticeWithoutALeadingNewlineToNothing) {
  EXPECT_EQ(output_of(result_of(Ending::timeout, "")), "[Command timed out after 1s]");
}

TEST(JsonResult, AddsNoticesAfterOneNewlineToOutput) {
  EXPECT_EQ(output_of(result_of(Ending::timeout, "part")), "part\n[Command timed out after 1s]");
  EXPECT_EQ(output_of(result_of(Ending::interrupted, "part")), "part\n[Command interrupted]");
}

TEST(JsonResult, AddsNothingToACommandThatChose124Or130Itself) {
  JsonResult result = result_of(Ending::exited, "x");
  result.outcome.exit_code = 124;
  EXPECT_EQ(output_of(result), "x");
  result.outcome.exit_code = 130;
  EXPECT_EQ(output_of(result), "x");
}

TEST(JsonResult, TellsOfARunningCommandWithoutInventingAnExitCode) {
  JsonResult result = result_of(Ending::running, "");
  result.existed = true;
  const auto json = nlohmann::json::parse(to_json(result));
  EXPECT_TRUE(json.at("exit_code").is_null());
  EXPECT_EQ(json.at("outcome"), "running");
  EXPECT_EQ(json.at("existed"), true);
}

TEST(Notice, TakesTheSandboxsTimeoutFromTheDurationWhenTheCallHadNone) {
  Outcome outcome;
  outcome.ending = Ending::timeout;
  outcome.duration_us = 3'004'000;
  EXPECT_EQ(notice(outcome, milliseconds(0)), "[Command timed out after 3s]");
}

TEST(ExitCode, IsTheCommandsOwnOrTheContracts) {
  const auto code = [](Ending ending, int exit_code, int signal) {
    Outcome outcome;
    outcome.ending = ending;
    outcome.exit_code = exit_code;
    outcome.signal = signal;
    return exit_code_of(outcome);
  };
  EXPECT_EQ(code(Ending::exited, 42, 0), 42);
  EXPECT_EQ(code(Ending::signaled, 0, 9), 137);
  EXPECT_EQ(code(Ending::timeout, 124, 0), 124);
  EXPECT_EQ(code(Ending::interrupted, 130, 0), 130);
  EXPECT_EQ(code(Ending::lost, 0, 0), 125);
}

}  // namespace
}  // namespace cove::cli
