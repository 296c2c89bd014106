// The parser beside bash itself: both must agree on what is a script and what is not.

#include <gtest/gtest.h>

#include <cstdio>

#include "policy/shell_syntax.h"

namespace cove::policy {
namespace {

bool bash_reads(const std::string& text) {
  FILE* bash = popen("bash -n 2>/dev/null", "we");
  EXPECT_NE(bash, nullptr);
  if (bash == nullptr) return false;
  std::fwrite(text.data(), 1, text.size(), bash);
  return pclose(bash) == 0;
}

TEST(ShellBeside, BashAgreesAboutWhatIsBroken) {
  for (const char* text : {
           "a &&",
           "a && b",
           "a | | b",
           "a ;; b",
           "; a",
           "a ; ; b",
           "a & ; b",
           "a &\nb",
           "()",
           "( a )",
           "{ a }",
           "{ a; }",
           "{ }",
           "if a; then b; fi",
           "if a; then fi",
           "if a then b; fi",
           "while a; do b; done",
           "while a; b; done",
           "for x in a b; do c; done",
           "for x in a b do c; done",
           "for x; do c; done",
           "case x in a) b;; esac",
           "case x in a) b; esac",
           "case x in a b;; esac",
           "case x in (a|b) ;; esac",
           "case x in esac",
           "f() { a; }",
           "f() a",
           "f() ( a )",
           "f() [[ a ]]",
           "function f { a; }",
           "f ( ) if a; then b; fi",
           "echo a (b)",
           "echo $(a)",
           "echo $(a",
           "echo $((1+2))",
           "echo $((1+2)",
           "echo `a`",
           "echo `a",
           "echo ${a",
           "echo \"${a:-\"b\"}\"",
           "echo 'a",
           "echo \"a",
           "echo a\\",
           "cat <<E\na\nE",
           "cat <<E\na",
           "cat <<",
           "cat <<${a b}\n(\n${a b}\n",
           "cat <<$(a b)\n(\n$(a b)\n",
           "a >",
           "a > ; b",
           "a 2>&1 >f <g",
           "a &> f",
           "[[ a == b ]]",
           "[[ a =~ (b|c) ]]",
           "[[ a",
           "((1+2))",
           "((1+2)",
           "( (a) )",
           "! a",
           "! ! a",
           "time a",
           "time",
           "a | b |& c",
           "coproc a",
           "coproc X { a; }",
           "x=(a b c)",
           "x=(a b",
           "x[1]=2",
           "a=1 b=2",
           "then",
           "fi",
           "}",
           ")",
           "echo }",
           "echo {",
           "echo fi",
           "for ((;;)); do a; done",
           "select x in a; do b; done",
           "until a; do b; done",
           "a || b && c; d",
           "a\n&& b",
           "a &&\n\nb",
           "a |\n# c\nb",
           "if a; then b; elif c; then d; else e; fi > f 2>&1 &",
           "echo $'a\\'b'",
           "echo $'a",
           "echo \"a$(echo \"b\")c\"",
           "a <(b) >(c)",
           "echo a#b # c 'd",
           "{ a; } && ( b ) | while c; do d; done",
           "f() { a; } > x; f",
           "case $x in \"a b\") c;; *) d;& e) f;;& esac",
       }) {
    const Script script = parse_shell(text);
    EXPECT_EQ(script.problem == ShellProblem::none, bash_reads(text)) << text << "\n" << script.problem_text;
  }
}

}  // namespace
}  // namespace cove::policy
