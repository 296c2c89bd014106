#include "session/dialect.h"

#include <gtest/gtest.h>

#include <string>

namespace cove::session {
namespace {

std::string capture(const std::string& variables,
                    const std::string& options = "braceexpand:hashall:interactive-comments",
                    const std::string& more = "checkwinsize:expand_aliases",
                    const std::string& aliases = "alias a='b'\n", const std::string& rest = "") {
  std::string text;
  for (const std::string& part :
       {std::string("3"), std::string("/x y\n"), std::string("trap"), options, more, std::string("0027\n"), variables,
        std::string("f () \n{ \n    echo\n}\n"), std::string("declare -f f\n"), aliases, rest}) {
    text.append(part).push_back('\0');
  }
  return text + "END";
}

TEST(Quote, SurvivesQuotesAndNewlines) { EXPECT_EQ(quote("it's\n"), "'it'\\''s\n'"); }

TEST(QuotePath, LeavesOnlyTheTildeToTheShell) {
  EXPECT_EQ(quote_path("~"), "~");
  EXPECT_EQ(quote_path("~/a b"), "~/'a b'");
  EXPECT_EQ(quote_path("~bob/x"), "~bob/'x'");
  EXPECT_EQ(quote_path("~$(rm)/x"), "'~$(rm)/x'");
  EXPECT_EQ(quote_path("/a~"), "'/a~'");
}

TEST(SplitCapture, RefusesWhatIsTorn) {
  const std::string whole = capture("");
  EXPECT_TRUE(split_capture(whole));
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(split_capture(whole.substr(0, n))) << n;
  EXPECT_FALSE(split_capture(whole + "x"));
}

TEST(BashDialect, KeepsVariablesButNotTheShellsOwn) {
  const auto captured = bash_dialect().read_capture(
      capture("declare -x A=\"1\"\ndeclare -ir UID=\"0\"\ndeclare -- _=\"x\"\ndeclare -- __cove_s=\"0\"\n"), State{},
      false);
  ASSERT_TRUE(captured);
  const State* state = &*captured;
  EXPECT_EQ(state->variables, "declare -x A=\"1\"\n");
  EXPECT_EQ(state->cwd, "/x y");
  EXPECT_EQ(state->umask, 027);
}

TEST(BashDialect, PlainExportsTravelInTheEnvironment) {
  State state;
  state.variables =
      "declare -x A=\"a \\\"b\\\" \\$c\nd\"\ndeclare -x E=\"\"\ndeclare -x N\ndeclare -x C=$'\\t'\ndeclare -rx "
      "R=\"1\"\n"
      "declare -- B=\"2\"\ndeclare -x LD_PRELOAD=\"/x\"\ndeclare -x BASH_ENV=\"/y\"\ndeclare -x PATH=\"/p\"\n";
  state.text = "rest\n";
  const Preload preload = bash_dialect().preload(state);
  EXPECT_EQ(preload.env, (std::vector<std::string>{"A=a \"b\" $c\nd", "E=", "PATH=/p"}));
  EXPECT_EQ(preload.text,
            "\\builtin declare +x SHELL\n\\builtin declare +x HOME\ndeclare -x N\ndeclare -x C=$'\\t'\n"
            "declare -rx R=\"1\"\ndeclare -- B=\"2\"\ndeclare -x LD_PRELOAD=\"/x\"\n"
            "declare -x BASH_ENV=\"/y\"\nrest\n");
}

TEST(BashDialect, ABlankShellIsToldOfASessionThatBegins) {
  const State state = bash_dialect().begin({"A=it's", "HOME=/h"}, "/w", false);
  EXPECT_EQ(bash_dialect().blank_rest(state, 7),
            "RANDOM=7 SECONDS=0\n\\builtin declare +x HOME\n\\builtin declare +x SHELL\n\\builtin declare +x PATH\n"
            "\\builtin unset -v LC_CTYPE\ndeclare -x A='it'\\''s'\ndeclare -x HOME='/h'\n"
            "[[ $PWD == '/w' ]] || { \\builtin cd -P -- '/w'; \\builtin unset -v OLDPWD; }\n");
  const State login = bash_dialect().begin({"LANG=C"}, "/w", true);
  EXPECT_TRUE(bash_dialect().blank_rest(login, 7).ends_with(
      login.variables + "\\builtin trap - EXIT; \\builtin shopt -u expand_aliases\n" + login.text));
  EXPECT_EQ(bash_dialect().blank_rest(login, 7).find("unset -v LANG"), std::string::npos);
  EXPECT_TRUE(posix_dialect().blank_argv().empty());
}

TEST(BashDialect, OptionsThatLockOutDoNotStay) {
  const auto captured = bash_dialect().read_capture(capture("", "errexit:nounset:pipefail:xtrace"), State{}, false);
  ASSERT_TRUE(captured);
  const State* state = &*captured;
  EXPECT_NE(state->text.find("set -o pipefail"), std::string::npos);
  EXPECT_NE(state->text.find("set +o braceexpand"), std::string::npos);
  for (const char* gone : {"-o errexit", "-o nounset", "-o xtrace"})
    EXPECT_EQ(state->text.find(gone), std::string::npos);
}

TEST(BashDialect, ADirectoryForOneCommandLeavesTheSessionWhereItWas) {
  State before;
  before.cwd = "/home";
  before.variables = "declare -x OLDPWD=\"/was\"\n";
  const auto captured = bash_dialect().read_capture(capture("declare -x OLDPWD=\"/home\"\n"), before, true);
  ASSERT_TRUE(captured);
  const State* state = &*captured;
  EXPECT_EQ(state->cwd, "/home");
  EXPECT_EQ(state->variables, "declare -x OLDPWD=\"/was\"\n");
}

TEST(BashDialect, AliasesComeBehindFunctionsSoThatBodiesStayAsTheyAre) {
  const auto captured = bash_dialect().read_capture(capture(""), State{}, false);
  ASSERT_TRUE(captured);
  const State* state = &*captured;
  EXPECT_LT(state->text.find("f () "), state->text.find("alias a='b'"));
  EXPECT_LT(state->text.find("alias a='b'"), state->text.find("shopt -s expand_aliases"));
}

TEST(BashDialect, AShellRunsAnotherCommandOnlyIfTheLastOneLeftNoTrace) {
  // What the shell tells if nothing is there but our own EXIT trap.
  const std::string trap = bash_dialect().begin({}, "/", false).text;
  const std::size_t at = trap.find("trap -- '");
  const std::string rest = "0 1 bash \n" + trap.substr(at, trap.rfind("\\builtin trap -p EXIT") - at);
  const auto as_before = [&](const std::string& options, const std::string& aliases, const std::string& told) {
    return bash_dialect().is_as_before(capture("", options, "checkwinsize", aliases, told));
  };
  const std::string usual = "braceexpand:hashall:interactive-comments";
  EXPECT_TRUE(as_before(usual, "", rest));
  EXPECT_TRUE(as_before(usual + ":errexit:pipefail", "alias ls='ls -l'\n", rest));
  EXPECT_FALSE(as_before(usual + ":posix", "", rest));
  EXPECT_FALSE(as_before(usual, "alias case='x'\n", rest));
  EXPECT_FALSE(as_before(usual, "", "1 1 bash \n" + rest.substr(10)));
  EXPECT_FALSE(as_before(usual, "", rest + "trap -- 'x' SIGINT\n"));
  EXPECT_FALSE(as_before(usual, "", ""));
  EXPECT_FALSE(posix_dialect().is_as_before(capture("")));
}

TEST(WithoutNames, LeavesOutExactlyThose) {
  EXPECT_EQ(without_names("declare -x A=\"1\nB=2\"\ndeclare -x KEY=\"secret\"\ndeclare -- C=\"3\"\n", {"KEY", "B"}),
            "declare -x A=\"1\nB=2\"\ndeclare -- C=\"3\"\n");
}

TEST(ParseUmask, TakesOctalOnly) {
  EXPECT_EQ(parse_umask("0077\n", 022), 077);
  EXPECT_EQ(parse_umask("junk", 022), 022);
  EXPECT_EQ(parse_umask("77777", 022), 022);
}

}  // namespace
}  // namespace cove::session
