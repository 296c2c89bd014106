// The nine principles, where they promise more than their cases.

#include <atomic>
#include <filesystem>
#include <thread>

#include "conformance/fixture.h"
#include "helpers/program.h"

namespace cove::conformance {
namespace {

class Principle : public Contract {};

TEST_F(Principle, P1_WhatWouldLockAPersonOutHarmsNothing) {
  for (const std::string script : {"exec >&-; echo lost",
                                   "exec 2>&-",
                                   "exec <&-",
                                   "exec 0<&- 1>&- 2>&-",
                                   "exec sleep 0",
                                   "set -e -u; false",
                                   "unset PATH",
                                   "exit 7",
                                   "kill -9 $$",
                                   "kill -TERM $$",
                                   "kill -INT $$",
                                   "kill -PIPE $$",
                                   "IFS=xyz",
                                   "trap 'exit 9' DEBUG",
                                   "trap '' EXIT",
                                   "POSIXLY_CORRECT=1",
                                   "TMOUT=1",
                                   "PS4='$(echo PWN)'; set -x",
                                   "PROMPT_COMMAND='echo PWN'",
                                   "shopt -s extdebug",
                                   "set -f",
                                   "BASH_ENV=/nonexistent",
                                   "ENV=/nonexistent; export ENV",
                                   "HOME=/nonexistent",
                                   "PWD=/nonexistent",
                                   "exec 10>&-",
                                   "exec 11>/dev/null",
                                   "exec 13</dev/zero",
                                   "for i in 3 4 5 6 7 8 9 10 11 12; do eval \"exec $i>&-\"; done",
                                   "ulimit -f 0",
                                   "ulimit -n 8"}) {
    SCOPED_TRACE(script);
    const std::string session = "p1-" + script;
    EXPECT_RAN(run(sandbox(), {.script = "KEPT=1", .session = session}), 0, "");
    run(sandbox(), {.script = script, .session = session});
    EXPECT_RAN(run(sandbox(), {.script = "echo hi $KEPT", .session = session}), 0, "hi 1\n");
  }
}

// A shell that has run a command may run the next one, if that cannot tell.
TEST_F(Principle, P1_WhatIsNoStateDoesNotReachTheNextCommand) {
  const std::vector<std::array<std::string, 3>> cases{
      {"set -- a b", "echo $#", "0"},
      {"BASH_ARGV0=other", "echo $0", "bash"},
      {"exec 9>/dev/null 12</dev/null", "sh -c 'for f in /proc/$$/fd/*; do [ -e $f ] && printf %s ${f##*/}; done; :'",
       "012"},
      {"exec 2>/dev/null", "echo seen >&2", "seen"},
      {"exec </etc/passwd", "readlink /proc/self/fd/0", "/dev/null"},
      {"ulimit -S -n 100", "[ $(ulimit -n) != 100 ]", ""},
      {"ulimit -c 0; ulimit -t 9", "ulimit -t", "unlimited"},
      {"trap 'echo TRAP' INT EXIT", "trap -p INT", ""},
      {"trap '' PIPE", "trap -p PIPE", ""},
      {"pushd / >/dev/null; cd - >/dev/null; cd - >/dev/null; cd -- ~-", "dirs -v | wc -l", "1"},
      {"sleep 60 & sleep 61 &", "jobs; wait; echo [$!]", "[]"},
      {"(exit 3) & wait", "jobs; echo [$!]", "[]"},
      {"enable -n read eval", "read x </dev/null; eval echo ok", "ok"},
      {"hash -p /nonexistent/cat cat", "cat /dev/null && echo found", "found"},
      {"readonly BASH_EXECUTION_STRING; echo -n", "echo once", "once"},
      {"declare -i __cove; declare -i BASH_EXECUTION_STRING", "echo 1+1", "1+1"},
      {"alias case=false in=false esac=false {=false", "echo ok", "ok"},
      {"set -o history; RANDOM=1", "[ -o history ] || echo off", "off"},
      {"set -e", "false; echo on", "on"},
      {"break; continue; return 2>/dev/null", "echo on", "on"},
      {"IFS=x", "echo ax", "ax"},
      {"nosuch() { return 4; }; nosuch", "echo $?", "4"}};
  for (const auto& [script, next, expected] : cases) {
    SCOPED_TRACE(script);
    const std::string session = "p1n-" + script;
    EXPECT_EQ(run(sandbox(), {.script = "KEPT=1", .session = session}).code(), 0);
    run(sandbox(), {.script = script, .session = session});
    for (int i = 0; i < 2; ++i) {
      const Ran ran = run(sandbox(), {.script = (i == 0 ? next : "echo $KEPT"), .session = session});
      const std::string last = ran.output.substr(0, ran.output.find_last_not_of('\n') + 1);
      EXPECT_EQ(last.substr(last.rfind('\n') + 1), i == 0 ? expected : "1") << printable(ran);
    }
  }
}

TEST_F(Principle, P2_BashComplainsAboutTheCommandsOwnLinesOnly) {
  for (int i = 0; i < 3; ++i) {
    const Ran ran = sh("if then");
    EXPECT_EQ(ran.code(), 2);
    EXPECT_EQ(ran.output.find("builtin"), std::string::npos) << printable(ran);
    EXPECT_RAN(sh("echo $LINENO\necho $LINENO; exit 3"), 3, "1\n2\n");
  }
}

TEST_F(Principle, P1_FunctionsAndAliasesNamedLikeBuiltinsHarmNothing) {
  for (const std::string name :
       {"eval",   "builtin", "command", "printf", "declare",  "typeset", "trap", "exit",   "cd",   "pwd",
        "set",    "unset",   "export",  "alias",  "shopt",    "umask",   "read", "source", "exec", "echo",
        "return", "test",    "true",    "local",  "readonly", "mktemp",  "bash", "sh",     "cat",  "__cove"}) {
    SCOPED_TRACE(name);
    const std::string session = "p1f-" + name;
    EXPECT_RAN(run(sandbox(), {.script = "KEPT=1; " + name + "(){ \\builtin printf FN; }", .session = session}), 0, "");
    EXPECT_RAN(run(sandbox(), {.script = "/bin/echo hi $KEPT", .session = session}), 0, "hi 1\n");
    const std::string aliased = "p1a-" + name;
    EXPECT_RAN(run(sandbox(), {.script = "KEPT=1; alias " + name + "='/bin/echo AL'", .session = aliased}), 0, "");
    EXPECT_RAN(run(sandbox(), {.script = "/bin/echo hi $KEPT", .session = aliased}), 0, "hi 1\n");
  }
}

TEST_F(Principle, P1_ASyntaxErrorAndACatchableSignalKeepWhatWasSetBefore) {
  EXPECT_EQ(sh("A=1; cd /\nif then").code(), 2);
  EXPECT_RAN(sh("echo $A; pwd"), 0, "1\n/\n");
  EXPECT_EQ(sh("B=2; cd /usr; kill -TERM $$; sleep 5").outcome.signal, 15);
  EXPECT_RAN(sh("echo $B; pwd"), 0, "2\n/usr\n");
}

TEST_F(Principle, P1_AfterExecAndKillNineTheSessionIsAsBefore) {
  EXPECT_RAN(sh("A=1; cd /usr"), 0, "");
  EXPECT_RAN(sh("A=2; cd /; exec true"), 0, "");
  EXPECT_RAN(sh("echo $A; pwd"), 0, "1\n/usr\n");
  EXPECT_EQ(sh("A=3; cd /; kill -9 $$").outcome.signal, 9);
  EXPECT_RAN(sh("echo $A; pwd"), 0, "1\n/usr\n");
}

TEST_F(Principle, P1_AllKindsOfVariablesStayAsTheyAre) {
  EXPECT_RAN(sh("declare -A map=([a b]='c d' [x]=$'\\n'); declare -i n=4; declare -a sparse=([5]=five [9]=nine); "
                "declare -u up=abc; declare -n ref=n; empty=; declare unset_one; odd=$'\\x01\\xff\\'\"`$\\\\'"),
             0, "");
  EXPECT_RAN(sh("echo \"${map[a b]}|${!sparse[*]}|$up|$ref|${empty-unset}|${unset_one-unset}\"; n+=1; echo $n; "
                "[ \"${map[x]}\" = $'\\n' ] && printf %s \"$odd\""),
             0, "c d|5 9|ABC|4||unset\n5\n\x01\xff'\"`$\\");
}

TEST_F(Principle, P2_NoDescriptorBeyondThreeIsInherited) {
  const std::string list = "sh -c 'for f in /proc/$$/fd/*; do [ -e \"$f\" ] && echo ${f##*/}; done; :'";
  EXPECT_RAN(sh(list), 0, "0\n1\n2\n");
  // While it is loaded it has its libraries open: what is still there after that it was given.
  EXPECT_RAN(
      sh("sleep 999 & list() { (cd /proc/$!/fd; echo *); }; n=0\n"
         "until grep -q sleep /proc/$!/comm && [ \"$(list)\" = '0 1 2' ] || [ $((n += 1)) -gt 5000 ]; do sleep .01; "
         "done; list; kill $!"),
      0, "0 1 2\n");
  EXPECT_RAN(sh_with_stdin(list, "x"), 0, "0\n1\n2\n");
  EXPECT_RAN(run(sandbox(), {.argv = {"sh", "-c", list}}), 0, "0\n1\n2\n");
}

TEST_F(Principle, P2_NothingOfOursIsInTheOutputOfTools) {
  EXPECT_RAN(sh("alias; declare -F; jobs; echo $0 >/dev/null; dirs >/dev/null; hash -r"), 0, "");
  EXPECT_RAN(sh("env | grep -ic cove_; compgen -v | grep -c '^COVE_'"), 1, "0\n0\n");
}

TEST_F(Principle, P2_StateIsNotForgedByWritingToEveryDescriptor) {
  sh("for f in /proc/$$/fd/*; do printf '/fake\\0END' >$f; done 2>/dev/null; for f in 3 4 5 6 7 10 11; do printf x "
     ">&$f; done");
  EXPECT_RAN(sh("pwd"), 0, scratch() + "\n");
}

TEST_F(Principle, P3_ScriptsOfAnyLengthAndContentArriveExactly) {
  std::string bytes(std::min<std::uint64_t>(6 << 20, big_bytes() / 50), ' ');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 255 + 1);
  const Ran ran = sh("printf %s " + conformance::quoted(bytes));
  EXPECT_TRUE(ran.exited(0)) << ran.code();
  EXPECT_TRUE(ran.output == bytes) << ran.output.size() << " bytes of " << bytes.size();
  EXPECT_RAN(sh("echo a # no newline at the end"), 0, "a\n");
  EXPECT_RAN(sh("echo a\r"), 0, "a\r\n");
  EXPECT_RAN(sh("\n\n  echo a  \n\n"), 0, "a\n");
}

TEST_F(Principle, P3_AProgramGetsItsArgumentsExactly) {
  const std::vector<std::string> argv = {"printf", "%s|", "a b", "", "'\"$x`", "\n", "\xff", "*"};
  EXPECT_RAN(run(sandbox(), {.argv = argv}), 0, "a b||'\"$x`|\n|\xff|*|");
  EXPECT_RAN(run(sandbox(), {.argv = {"sh", "-c", "echo $V; pwd; exit 4"}, .cwd = "/", .env = {"V=one"}}), 4,
             "one\n/\n");
}

TEST_F(Principle, P5_BackgroundJobsOfEarlierCommandsOutliveATimeout) {
  EXPECT_RAN(sh("sleep 999 & echo $! >early"), 0, "");
  EXPECT_EQ(sh_to_timeout("sleep 998 & echo $! >late; sleep 999", {"late"}).outcome.ending, Ending::timeout);
  EXPECT_TRUE(dies_inside(read_inside("late")));
  const std::string early = read_inside("early");
  EXPECT_TRUE(alive_inside(early));
  EXPECT_RAN(sh("kill " + early), 0, "");
  EXPECT_TRUE(dies_inside(early));
}

// A shell's parent is what its command is ended by. What is left of such a command is looked for while another one
// starts process after process.
TEST_F(Principle, P5_ACommandThatKillsItsReaperEndsNothingElse) {
  std::atomic<bool> over = false;
  std::thread killer([&] {
    while (!over) (void)run(sandbox(), {.script = "sleep 99 & kill -9 $PPID; sleep 99", .session = "killer"});
  });
  const Ran ran = sh("for i in $(seq 200); do /bin/true || echo killed; done");
  over = true;
  killer.join();
  EXPECT_RAN(ran, 0, "");
}

TEST_F(Principle, P5_SignalsToItsReaperEndNothing) {
  EXPECT_RAN(sh("for s in USR1 USR2 TERM INT HUP CHLD; do kill -$s $PPID; done; sleep 0.1; echo on"), 0, "on\n");
  EXPECT_RAN(sh("echo still"), 0, "still\n");
}

TEST_F(Principle, P6_TheSameIdNeverRunsTwice) {
  CommandSpec once = command("echo ran >>" + quoted(scratch() + "/count") + "; echo out; exit 5");
  once.id = "once-" + scratch().substr(scratch().rfind('/') + 1);
  const Ran first = sh(once), second = sh(once);
  EXPECT_RAN(first, 5, "out\n");
  EXPECT_RAN(second, 5, "out\n");
  EXPECT_EQ(read_inside("count"), "ran");
  const auto asked = sandbox().status(once.id);
  ASSERT_TRUE(asked) << asked.error().text();
  EXPECT_EQ(asked->exit_code, 5);
  const auto never = sandbox().status("never-started");
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Errc::not_found) << never.error().text();
}

TEST_F(Principle, P6_EightCallersWithOneIdShareOneRun) {
  CommandSpec once = command("echo ran >>" + quoted(scratch() + "/count") + "; sleep .2; echo out");
  once.id = "shared-" + scratch().substr(scratch().rfind('/') + 1);
  std::vector<std::jthread> callers;
  std::vector<Ran> all(8);
  for (Ran& one : all) callers.emplace_back([&] { one = sh(once); });
  callers.clear();
  for (const Ran& one : all) EXPECT_RAN(one, 0, "out\n");
  EXPECT_EQ(read_inside("count"), "ran");
}

TEST_F(Principle, P7_StopLeavesNoProcessAndNoFile) {
  SandboxSpec spec = make_spec();
  set_env(spec, "P7_MARK", spec.name);
  const std::string directory = home().path() + "/sandboxes/" + spec.name;
  {
    Sandbox own = create(spec);
    EXPECT_RAN(run(own, {.script = "sleep 999 & setsid sleep 999 & (trap '' TERM HUP; exec sleep 999) & echo"}), 0,
               "\n");
    ASSERT_TRUE(own.start({.script = "sleep 999"}));
    EXPECT_TRUE(std::filesystem::exists(directory));
  }
  EXPECT_EQ(testing_helpers::describe(testing_helpers::processes_with_env("P7_MARK=" + spec.name)), "");
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST_F(Principle, P8_SecretsOfTheHostStayOutUnlessNamed) {
  const std::string secret = "sk-p8-" + home().root();
  const std::vector<std::string> host = {"OPENAI_API_KEY=" + secret, "GITHUB_TOKEN=" + secret,
                                         "openai_api_key=" + secret};
  const auto plain =
      testing_helpers::run_cove({"run", "--backend", testing_helpers::backend_name(), "--", "env"}, host);
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out.find(secret), std::string::npos) << "a secret of the host is visible inside";
  const std::string look =
      "for f in /proc/[0-9]*/cmdline; do while IFS= read -r -d '' word; do "
      "case $word in *$OPENAI_API_KEY*) echo $f;; esac; done <$f; done 2>/dev/null; true";  // some end meanwhile
  const auto named = testing_helpers::run_cove({"run", "--backend", testing_helpers::backend_name(), "--forward-env",
                                                "OPENAI_API_KEY", "--", "printenv OPENAI_API_KEY; " + look},
                                               host);
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.out, secret + "\n") << "not forwarded, or visible in an argument list";
}

}  // namespace
}  // namespace cove::conformance
