#include "policy/shell_syntax.h"

#include <gtest/gtest.h>

#include <ctime>

namespace cove::policy {
namespace {

// Long enough for time that grows with the square to be seen; sanitizers are too slow for that.
#ifdef COVE_ADDRESS_SANITIZER
constexpr std::size_t kLong = 20'000;
#else
constexpr std::size_t kLong = 200'000;
#endif

// Every command on a line of its own, its words between '|'.
std::string commands(std::string_view text) {
  std::string all;
  for (const SimpleCommand& command : parse_shell(text).commands) {
    if (command.words.empty()) continue;
    std::string line;
    for (const Word& word : command.words) line += (line.empty() ? "" : "|") + word.text;
    all += (all.empty() ? "" : "\n") + line;
  }
  return all;
}

struct Case {
  const char* text;
  const char* commands;
};

class Commands : public testing::TestWithParam<Case> {};

TEST_P(Commands, AreFoundWithTheirWords) {
  EXPECT_EQ(commands(GetParam().text), GetParam().commands) << GetParam().text;
  EXPECT_EQ(parse_shell(GetParam().text).problem, ShellProblem::none)
      << GetParam().text << ": " << parse_shell(GetParam().text).problem_text;
}

constexpr Case kQuotes[] = {
    {"", ""},
    {"  \n\t\n", ""},
    {"# rm x", ""},
    {"echo hi # rm x", "echo|hi"},
    {"echo a#b", "echo|a#b"},
    {"echo a\\", "echo|a\\"},
    {"r\\m 'a b' \"c d\" e\\ f", "rm|a b|c d|e f"},
    {"\"rm\" ''", "rm|"},
    {"r'm' -r\"f\" x", "rm|-rf|x"},
    {"echo $'a\\tb\\x41\\101\\u00e9\\'q'", "echo|a\tbAA\xc3\xa9'q"},
    {"$'rm' x", "rm|x"},
    {"$'\\x72\\x6d' x", "rm|x"},
    {"echo \"a \\\" \\$x \\n\"", "echo|a \" $x \\n"},
    {"echo \"it's\" 'say \"hi\"'", "echo|it's|say \"hi\""},
    {"echo a\\\nb", "echo|ab"},
    {"echo a \\\n  b", "echo|a|b"},
    {"echo $\"hi\" $ x$", "echo|hi|$|x$"},
    {"echo 'multi\nline'", "echo|multi\nline"},
};
INSTANTIATE_TEST_SUITE_P(Quotes, Commands, testing::ValuesIn(kQuotes));

constexpr Case kPositions[] = {
    {"a; b & c && d || e | f |& g\nh", "a\nb\nc\nd\ne\nf\ng\nh"},
    {"(a); { b; }; ! c; ! (d); !(e)", "a\nb\nc\nd\ne"},
    {"if a; then b; elif c; then d; else e; fi", "a\nb\nc\nd\ne"},
    {"while a; do b; done; until c; do d; done", "a\nb\nc\nd"},
    {"for x in a b; do c $x; done", "c|$x"},
    {"for x\ndo c\ndone", "c"},
    {"for ((i=0; i<3; i++)); do c; done", "c"},
    {"for x in a; { c; }", "c"},
    {"select x in a b; do c; done", "c"},
    {"case $x in a) b;; (c|d) e;; *) f;& g) h;;& esac", "b\ne\nf\nh"},
    {"case rm in rm) ;; esac", ""},
    {"case x in\na) b\n;;\nesac", "b"},
    {"f() { a; }; function g { b; }; function h() ( c ); f", "a\nb\nc\nf"},
    {"f ()\n{\n a\n}\nf", "a\nf"},
    {"time a; time -p b | c; time", "a\nb\nc"},
    {"coproc a; coproc N { b; }; coproc c d", "a\nb\nc|d"},
    {"A=1 B=2 cmd x", "cmd|x"},
    {"A=1", ""},
    {"a[1 + 2]=3 cmd; b+=x cmd2", "cmd\ncmd2"},
    {"a=(rm -rf /) b; declare -a c=(rm x)", "b\ndeclare|-a|c=(rm x)"},
    {"[[ -f x && ( $a == @(b|c) || $d =~ ^(e|f g)+$ ) ]] && h", "[[|-f|x|||$a|==|@(b|c)||$d|=~|^(e|f g)+$|\nh"},
    {"[[ a < b ]]; [ -f x ]", "[[|a||b\n[|-f|x|]"},
    {"((i++)); (( a > (b) )) && c", "((\n((\nc"},
    {"echo if then rm", "echo|if|then|rm"},
    {"if=1 cmd", "cmd"},
    {"echo {a,b} }", "echo|{a,b}|}"},
    {"a &\nb &", "a\nb"},
    {"{ a; } 2>&1 | b", "a\nb"},
};
INSTANTIATE_TEST_SUITE_P(Positions, Commands, testing::ValuesIn(kPositions));

constexpr Case kExpansions[] = {
    {"echo $(a; b) `c` \"$(d \"e f\")\"", "a\nb\nc\nd|e f\necho|$(a; b)|`c`|$(d \"e f\")"},
    {"echo `a \\`b\\``", "b\na|`b`\necho|`a \\`b\\``"},
    {"echo ${x:-$(a)} \"${y:-'it'}\" ${z#'}'}", "a\necho|${x:-$(a)}|${y:-'it'}|${z#'}'}"},
    {"echo \"${x:-it's}\" b", "echo|${x:-it's}|b"},
    {"echo $((5&3)) $((1+(2))) $[1+2]", "echo|$((5&3))|$((1+(2)))|$[1+2]"},
    {"echo $((a); (b))", "a\nb\necho|$((a); (b))"},
    {"echo $(( $(a) ))", "a\necho|$(( $(a) ))"},
    {"diff <(a) >(b)", "a\nb\ndiff|<(a)|>(b)"},
    {"x=$(a) b", "a\nb"},
    {"x=$(case y in z) a;; esac)", "a"},
    {"echo $(echo ')' # )\n)", "echo|)\necho|$(echo ')' # )\n)"},
    {"echo ${#x} ${!y} ${z[@]} ${a/b/c} $$ $! $? $# $@ $1x", "echo|${#x}|${!y}|${z[@]}|${a/b/c}|$$|$!|$?|$#|$@|$1x"},
    {"echo \"`a \\\"b c\\\"`\"", "a|b c\necho|`a \\\"b c\\\"`"},
};
INSTANTIATE_TEST_SUITE_P(Expansions, Commands, testing::ValuesIn(kExpansions));

constexpr Case kRedirections[] = {
    {"a >f 2>&1 <g >>h &>i &>>j >|k <>l {fd}>m 3<n", "a"},
    {">f a b", "a|b"},
    {"a 2 >f", "a|2"},
    {"cat <<E\nrm x\nE\nb", "cat\nb"},
    {"cat <<'E' | c\n$(rm x)\nE\nb", "cat\nc\nb"},
    {"cat <<E\n$(a) `b` \\$(c)\nE\n", "cat\na\nb"},
    {"cat <<-E\n\trm\n\tE\nb", "cat\nb"},
    {"cat <<A <<\\B; c\nx\nA\ny\nB\nd", "cat\nc\nd"},
    {"cat <<E\nno end", "cat"},
    {"cat <<E\na\\\nE\nE\nb", "cat\nb"},
    {"x=$(cat <<E\nrm )\nE\n)\nb", "cat\nb"},
    {"cat <<< 'rm x'", "cat"},
    {"cat <<E; echo $(a\n)\nrm\nE\nb", "cat\na\necho|$(a\n)\nb"},
    {"while read x; do a; done <<E\nrm\nE\nb", "read|x\na\nb"},
    {"a >& f; b >&2; c <&-", "a\nb\nc"},
};
INSTANTIATE_TEST_SUITE_P(Redirections, Commands, testing::ValuesIn(kRedirections));

constexpr Case kWrapped[] = {
    {"sudo -u bob -- rm x", "sudo|-u|bob|--|rm|x\nrm|x"},
    {"sudo -ulevi rm x", "sudo|-ulevi|rm|x\nrm|x"},
    {"sudo -l", "sudo|-l"},
    {"env -i A=1 -u B rm x", "env|-i|A=1|-u|B|rm|x\nrm|x"},
    {"nohup nice -n 5 timeout -s KILL 3 rm x",
     "nohup|nice|-n|5|timeout|-s|KILL|3|rm|x\nnice|-n|5|timeout|-s|KILL|3|rm|x\n"
     "timeout|-s|KILL|3|rm|x\nrm|x"},
    {"command -v rm; command rm x; builtin cd y; exec -a n rm z",
     "command|-v|rm\ncommand|rm|x\nrm|x\nbuiltin|cd|y\ncd|y\nexec|-a|n|rm|z\nrm|z"},
    {"stdbuf -oL setsid rm x", "stdbuf|-oL|setsid|rm|x\nsetsid|rm|x\nrm|x"},
    {"a | xargs -0 -I{} rm {}", "a\nxargs|-0|-I{}|rm|{}\nrm|{}"},
    {"sh -c 'a; b' c", "sh|-c|a; b|c\na\nb"},
    {"bash -euo pipefail -c \"rm $x\"", "bash|-euo|pipefail|-c|rm $x\nrm|$x"},
    {"eval 'a;' b", "eval|a;|b\na\nb"},
    {"eval \"eval 'rm x'\"", "eval|eval 'rm x'\neval|rm x\nrm|x"},
    {"find . -exec rm {} \\; -execdir a +", "find|.|-exec|rm|{}|;|-execdir|a|+\nrm|{}\na"},
    {"su - bob -c 'rm x'", "su|-|bob|-c|rm x\nrm|x"},
    {"trap 'rm x' EXIT", "trap|rm x|EXIT\nrm|x"},
    {"env -S 'A=1 rm x'", "env|-S|A=1 rm x\nrm|x"},
    {"bash <<E\nrm x\nE", "bash\nrm|x"},
    {"sudo bash -s <<< 'rm x'", "sudo|bash|-s\nbash|-s\nrm|x"},
    {"echo 'rm x' | sudo sh", "echo|rm x\nsudo|sh\nsh\nrm|x"},
    {"printf '%s\\n' 'rm x' | bash", "printf|%s\\n|rm x\nbash\n%s\nrm|x"},
    {"bash file <<E\nrm\nE", "bash|file"},
    {"busybox rm x", "busybox|rm|x\nrm|x"},
    {"C='rm -r'; $C x", "$C|x\nrm|-r|x"},
    {"C=\"$C a\"; $C rm x", "$C|rm|x\nrm|x"},
    {"$A $B $C $D $E $F $G $H $I $J $K $L $M $N $O $P $Q $R rm",
     "$A|$B|$C|$D|$E|$F|$G|$H|$I|$J|$K|$L|$M|$N|$O|$P|$Q|$R|rm\nrm"},
    {"$CC $CFLAGS -c x", "$CC|$CFLAGS|-c|x"},
    {"A=; $A rm x", "$A|rm|x\nrm|x"},
    {"$SUDO rm x", "$SUDO|rm|x\nrm|x"},
    {"uv run rm x; npx vite", "uv|run|rm|x\nrm|x\nnpx|vite\nvite"},
    {"echo sudo rm; ssh h rm x; docker run i rm x", "echo|sudo|rm\nssh|h|rm|x\ndocker|run|i|rm|x"},
    {"watch -n 1 'rm x; a'", "watch|-n|1|rm x; a\nrm|x\na"},
};
INSTANTIATE_TEST_SUITE_P(Wrapped, Commands, testing::ValuesIn(kWrapped));

TEST(ShellSyntax, KnowsWhichBytesAreExpanded) {
  const Script script = parse_shell("a ~/*'*'\"$x\"$y {a,b} {} x~ [");
  const auto& words = script.commands.at(0).words;
  EXPECT_EQ(words[1].text, "~/**$x$y");
  EXPECT_EQ(words[1].kinds, "*.*.\"\"$$");
  EXPECT_EQ(words[2].kinds, "*.*.*");
  EXPECT_TRUE(words[3].literal());
  EXPECT_TRUE(words[4].literal());
}

TEST(ShellSyntax, SaysWhereWordsStand) {
  const std::string text = "a; $(sudo b) `sudo c`";
  const Script script = parse_shell(text);
  std::vector<std::string> found;
  for (const SimpleCommand& command : script.commands) {
    if (command.name == "sudo") found.push_back(text.substr(command.words[0].at, 6));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"sudo b", "sudo c"}));
}

TEST(ShellSyntax, SaysWhereCommandsStand) {
  const Script script = parse_shell("f() { a | b; }; c & (d && e); g $(h)");
  const auto find = [&](std::string_view name) -> const SimpleCommand& {
    for (const SimpleCommand& command : script.commands) {
      if (command.name == name) return command;
    }
    ADD_FAILURE() << name;
    return script.commands.front();
  };
  EXPECT_EQ(find("a").function, 0);
  EXPECT_EQ(find("a").pipeline, find("b").pipeline);
  EXPECT_EQ(find("b").stage, 1U);
  EXPECT_TRUE(find("c").background);
  EXPECT_FALSE(find("d").background);
  EXPECT_TRUE(find("e").conditional);
  EXPECT_NE(find("d").scope, 0U);
  EXPECT_TRUE(find("h").substitution);
  EXPECT_FALSE(find("g").substitution);
}

TEST(ShellSyntax, KeepsHereDocumentsAndTargets) {
  const Script script = parse_shell("cat <<E >'a b' 2>>c\nx $y\nE\n");
  const auto& found = script.commands.at(0).redirections;
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].target.text, "x $y\n");
  EXPECT_EQ(found[1].target.text, "a b");
  EXPECT_EQ(found[2].fd, 2);
  EXPECT_EQ(found[2].kind, Redirection::Kind::append);
}

TEST(ShellSyntax, BrokenTextSaysSoAndKeepsWhatCameBefore) {
  for (const char* text :
       {"rm x\necho 'a", "rm x; echo \"a", "rm x; echo $(a", "rm x; (a", "rm x; if a", "rm x; a &&", "rm x; fi",
        "rm x; a )", "rm x; | b", "rm x; ${", "rm x; `a", "rm x; a ;; b", "rm x; a > "}) {
    const Script script = parse_shell(text);
    EXPECT_NE(script.problem, ShellProblem::none) << text;
    EXPECT_FALSE(script.problem_text.empty()) << text;
    ASSERT_FALSE(script.commands.empty()) << text;
    EXPECT_EQ(script.commands[0].name, "rm") << text;
  }
  EXPECT_TRUE(parse_shell("sh -c 'a ('").inner_problem);
  EXPECT_EQ(parse_shell("sh -c 'a ('").problem, ShellProblem::none);
  const Script with_nul = parse_shell(std::string_view("r\0m x", 5));
  EXPECT_EQ(with_nul.commands.at(0).name, "rm");
  EXPECT_NE(with_nul.problem, ShellProblem::none);
}

TEST(ShellSyntax, DepthIsBounded) {
  for (const char* open : {"(", "$(", "\"$(", "${x:-", "{ ", "if ", "$(( $(", "eval ", "a=(", "@(", "coproc ", "<(",
                           "case x in a) ", "f() {", "sudo ", "[[ (", "while "}) {
    std::string text;
    while (text.size() < kLong) text += open;
    EXPECT_NE(parse_shell(text).problem, ShellProblem::none) << open;
  }
}

// Each of these would take minutes if anything were read again and again.
TEST(ShellSyntax, TimeIsLinear) {
  const auto repeated = [](std::string_view part, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += part;
    return text;
  };
  for (const char* part :
       {"$((#'\n) ) ", "cat <<E ", "a[ ", "`#`",  "echo a | sh;", "X=1;$X a;", "a && ", "sudo a;",
        "f() { f; };", "<<a\n",    "{a,", "'",    "\"`",          "$((",       "@(a",   "rm {a,b}{c,d}{e,f}{g,h}{i,j};",
        "x=y rm $x;",  "((a) );",  "\\",  "$'\\", "bash <<E\n",   "a &"}) {
    const std::clock_t begin = std::clock();
    parse_shell(repeated(part, kLong));
    EXPECT_LT(std::clock() - begin, 10 * CLOCKS_PER_SEC) << part;
  }
}

TEST(ShellSyntax, WordsBecomeWhatTheScriptMakesOfThem) {
  const Script script = parse_shell("D=/usr; for e in /a /b; do rm {x,y}/z $D/bin \"${e}\" $F; done");
  const auto texts = [&](std::size_t i) {
    std::string all;
    for (const Word& word : alternatives(script.commands.back().words.at(i), script)) all += word.text + " ";
    return all;
  };
  EXPECT_EQ(texts(1), "x/z y/z ");
  EXPECT_EQ(texts(2), "/usr/bin ");
  EXPECT_EQ(texts(3), "/b /a ");
  EXPECT_EQ(texts(4), "$F ");
}

}  // namespace
}  // namespace cove::policy
