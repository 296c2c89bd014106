#include "terminal/ask_program.h"

#include <gtest/gtest.h>

namespace cove::terminal {
namespace {

using namespace std::chrono_literals;
using policy::Answer;

std::optional<Answer> answer(const std::string& program, std::chrono::milliseconds limit = 30s) {
  return ask_program(program, limit)({.session = "t", .command = "git push", .sentence = "it leaves the machine"});
}

TEST(AskProgram, SeesWhatIsAskedAndAnswers) {
  EXPECT_EQ(answer("read c; [ \"$c,$COVE_ASK_TASK,$COVE_ASK_WHY\" = 'git push,t,it leaves the machine' ] && echo once"),
            Answer::once);
  EXPECT_EQ(answer("echo ' always '"), Answer::always);
  EXPECT_EQ(answer("echo deny"), Answer::deny);
}

TEST(AskProgram, SilenceAndNonsenseAreNoAnswer) {
  EXPECT_EQ(answer("true"), std::nullopt);
  EXPECT_EQ(answer("echo yes, please"), std::nullopt);
  EXPECT_EQ(answer("echo once; exit 1"), std::nullopt);
  EXPECT_EQ(answer("echo once; kill -9 $$"), std::nullopt);
  EXPECT_EQ(answer("echo once; exec sleep 1000", 200ms), std::nullopt);
}

}  // namespace
}  // namespace cove::terminal
