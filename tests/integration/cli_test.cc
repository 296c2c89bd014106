#include "cli.h"

namespace {

TEST_F(Cli, RunPrintsAndExitsAsItsCommand) {
  const Ran ran = run("cove run -- 'echo hi; exit 3'");
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.out, "hi\n");
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(run("cove ls --names").out, "") << "a sandbox for one command is gone with it";
}

TEST_F(Cli, SessionsKeepDirectoryVariablesAndFunctions) {
  EXPECT_EQ(run("cove create t").out, "t\n");
  EXPECT_EQ(run("cove sh t 'cd /tmp; X=1; f(){ echo $X; }; exit 5'").code, 5);
  EXPECT_EQ(run("cove sh t 'pwd; f'").out, "/tmp\n1\n");
  EXPECT_EQ(run("cove sh t --session other pwd").out, directory_ + "/work\n");
}

TEST_F(Cli, WordsAfterTheNameAreTheCommand) {
  run("cove create t; touch a");
  EXPECT_EQ(run("cove sh t ls -1 a").out, "a\n");
  EXPECT_EQ(run("cove sh t -- echo --json").out, "--json\n");
}

TEST_F(Cli, StreamsAreKeptApartUnlessTheyGoToOnePlace) {
  run("cove create t");
  const Ran apart = run("cove sh t 'echo out; echo err >&2'");
  EXPECT_EQ(apart.out, "out\n");
  EXPECT_EQ(apart.err, "err\n");
  EXPECT_EQ(run("cove sh t 'echo 1; echo 2 >&2; echo 3' 2>&1").out, "1\n2\n3\n");
}

// Each holds a shell for its next command, with a dozen descriptors of the guest's.
TEST_F(Cli, SessionsAreNotLimitedByWhatCommandsMayOpen) {
  const Ran ran =
      run("ulimit -Sn 200; cove create t\n"
          "for i in $(seq 60); do cove sh t --session s$i \"X=$i\" || exit 1; done\n"
          "cove sh t --session s60 'echo $X; ulimit -Sn'");
  EXPECT_EQ(ran.out, "t\n60\n200\n") << ran.err;
}

TEST_F(Cli, ATimeoutIs124AndSaysSo) {
  run("cove create t");
  // A machine that is too slow for the first gets more time.
  for (const std::string time : {"0.2", "1.5", "10", "60"}) {
    const Ran ran = run("cove sh t --timeout " + time + " 'printf part; touch ready; sleep 999'");
    EXPECT_EQ(ran.code, 124);
    if (!std::filesystem::exists(directory_ + "/work/ready") && time != "60") continue;
    EXPECT_EQ(ran.out, "part");
    EXPECT_EQ(ran.err, "\n[Command timed out after " + time + "s]\n");
    break;
  }
  const Ran json = run("cove sh t --json --timeout 1 'sleep 999'");
  EXPECT_TRUE(
      json.out.starts_with(R"({"output": "[Command timed out after 1s]", "exit_code": 124, "outcome": "timeout")"))
      << json.out;
}

// bash starts background jobs with SIGINT ignored, and what is ignored stays so; SIGTERM means the same to us.
TEST_F(Cli, AnInterruptIs130AndEndsTheCommandOnly) {
  run("cove create t");
  const Ran ran =
      run("cove sh t \"echo ready; sleep $NAP\" >said & pid=$!\n"
          "until grep -q ready said 2>/dev/null; do sleep 0.02; done\n"
          "kill -TERM $pid; wait $pid; echo $?\n" +
          std::string(kNapIsOver));
  EXPECT_EQ(ran.out, "130\n");
  EXPECT_EQ(run("cove sh t 'echo alive'").out, "alive\n");
}

TEST_F(Cli, ASignalToRunEndsItsCommand) {
  const Ran ran =
      run("cove run \"echo ready; sleep $NAP\" >said & pid=$!\n"
          "until grep -q ready said 2>/dev/null; do sleep 0.02; done\n"
          "kill -TERM $pid; wait $pid; echo $?\n" +
          std::string(kNapIsOver));
  EXPECT_EQ(ran.out, "130\n");
  EXPECT_NE(ran.err.find("[Command interrupted]"), std::string::npos);
}

TEST_F(Cli, AReaderThatLeavesEndsTheCommand) {
  EXPECT_EQ(run("cove run yes | head -1; echo ${PIPESTATUS[0]}").out, "y\n141\n");
}

TEST_F(Cli, KillingRunLeavesNothing) {
  const Ran ran =
      run("cove run \"echo ready; sleep $NAP\" >said & pid=$!\n"
          "until grep -q ready said 2>/dev/null; do sleep 0.02; done\n"
          "kill -KILL $pid; wait $pid 2>/dev/null\n" +
          std::string(kNapIsOver));
  EXPECT_EQ(ran.out, "") << "the command outlived its owner";
}

TEST_F(Cli, AnIdNeverRunsTwiceAndReplays) {
  run("cove create t");
  EXPECT_EQ(run("cove sh t --id a 'echo x >>ran; echo hello; exit 4'").code, 4);
  const Ran again = run("cove sh t --id a 'echo x >>ran; echo other'");
  EXPECT_EQ(again.code, 4);
  EXPECT_EQ(again.out, "hello\n");
  EXPECT_EQ(read("/work/ran"), "x\n");
  EXPECT_NE(run("cove sh t --json --id a x").out.find("\"existed\": true"), std::string::npos);
}

TEST_F(Cli, ABackgroundCommandIsFollowedByItsId) {
  run("mkfifo go; cove create t");
  EXPECT_EQ(run("cove sh t --background --id b 'read x <go; echo $x; exit 6'").out, "b\n");
  EXPECT_NE(run("cove ps t").out.find("running"), std::string::npos);
  EXPECT_NE(run("cove sh t --id b true").err.find("still running"), std::string::npos);
  const Ran ran = run("cove attach t b & echo went >go; wait $!");
  EXPECT_EQ(ran.code, 6);
  EXPECT_EQ(ran.out, "went\n");
}

TEST_F(Cli, KillEndsACommandWithItsTree) {
  run("cove create t; cove sh t --background --id k \"setsid -w sleep $NAP\"");
  const Ran ran = run(
      "until pgrep -fx \"sleep $NAP\" >/dev/null; do sleep 0.02; done; cove kill t k; cove attach t k 2>/dev/null\n" +
      std::string(kNapIsOver));
  EXPECT_EQ(ran.out, "");
}

TEST_F(Cli, ADeadSandboxTellsTheTruthAboutAnId) {
  run("cove create t");
  const Ran ran =
      run("cove sh t --id q 'echo ready; sleep 4804' >said 2>/dev/null & pid=$!\n"
          "until grep -q ready said 2>/dev/null; do sleep 0.02; done\n"
          "kill -KILL $(cove inspect t | awk '$1 == \"keeper\" {print $2}'); wait $pid; echo $?\n"
          "cove sh t --json --id q true; cove sh t --id never true");
  EXPECT_TRUE(ran.out.starts_with("125\n")) << ran.out;
  EXPECT_NE(ran.out.find("\"outcome\": \"lost\""), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find("never was never started"), std::string::npos) << ran.err;
}

TEST_F(Cli, StdinComesFromAFileOrAPipe) {
  run("cove create t; printf 'l1\\nl2' >in");
  EXPECT_EQ(run("cove sh t --stdin in 'read a; read b; echo $a$b'").out, "l1l2\n");
  EXPECT_EQ(run("echo piped | cove sh t --stdin - cat").out, "piped\n");
  EXPECT_EQ(run("echo piped | cove sh t cat").out, "") << "without --stdin there is none";
}

TEST_F(Cli, ExecRunsAProgramWithItsOwnEnvironment) {
  run("cove create t");
  const Ran ran = run("cove exec t -e A=5 -w / -- sh -c 'echo $A; pwd; exit 9'");
  EXPECT_EQ(ran.code, 9);
  EXPECT_EQ(ran.out, "5\n/\n");
  EXPECT_EQ(run("cove exec t -- no-such-program").code, 127);
}

TEST_F(Cli, LogsAreByteExactAndAddressable) {
  run("cove create t; cove sh t --id l 'printf \"a\\0b\\377\"' >/dev/null");
  EXPECT_EQ(run("cove logs t l").out, std::string("a\0b\xff", 4));
  EXPECT_EQ(run("cove logs t l --from 3").out, "\xff");
}

TEST_F(Cli, WrongUsageIs2AndOurErrorsAre125) {
  for (const char* line :
       {"cove frob", "cove sh", "cove sh t", "cove run", "cove sh t --timeout 0 true", "cove sh t --timeout -1 true",
        "cove run --memory lots true", "cove ls --nope", "cove cp a b", "cove kill t x --signal NOPE"}) {
    const Ran ran = run(line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_TRUE(ran.err.starts_with("cove: ")) << line << ": " << ran.err;
  }
  for (const char* line : {"cove sh nope true", "cove rm nope", "cove inspect nope", "cove create 'Bad Name'",
                           "cove run --memory 5m true", "cove run --backend nope true"}) {
    const Ran ran = run(line);
    EXPECT_EQ(ran.code, 125) << line;
    EXPECT_TRUE(ran.err.starts_with("cove: ")) << line << ": " << ran.err;
  }
  EXPECT_EQ(run("cove rm --force nope").code, 0);
}

TEST_F(Cli, ABadConfigurationIsNamedAndOnlyReadWhereItMatters) {
  run("mkdir -p $XDG_CONFIG_HOME/cove; printf '\\ntimeot = 5\\n' >$XDG_CONFIG_HOME/cove/config.toml");
  const Ran ran = run("cove run true");
  EXPECT_EQ(ran.code, 125);
  EXPECT_NE(ran.err.find("config.toml:2: unknown key 'timeot'"), std::string::npos) << ran.err;
  EXPECT_EQ(run("cove ls").code, 0);
}

TEST_F(Cli, EveryCommandHasHelpAndCompletionParses) {
  EXPECT_EQ(
      run("for c in run create sh exec shell ls inspect ps logs kill attach cp stop start rm doctor completion man; do "
          "cove $c --help | grep -q Examples: || echo $c; done")
          .out,
      "");
  EXPECT_EQ(run("cove completion bash | bash -n").code, 0);
  EXPECT_NE(run("cove run --help").out.find("[--] [COMMAND]"), std::string::npos) << "an image may say what to run";
  EXPECT_EQ(run("cove help").code, 0);
  EXPECT_EQ(run("cove").code, 2);
}

TEST_F(Cli, AForwardedValueIsNeverOnDiskAndComesAgainAtStart) {
  run("MY_TOKEN=first-secret cove create --persistent --forward-env MY_TOKEN -e PLAIN=kept p");
  EXPECT_EQ(run("cove sh p 'X=7; echo $MY_TOKEN $PLAIN'").out, "first-secret kept\n");
  EXPECT_EQ(run("cove stop p").code, 0);
  EXPECT_EQ(run("grep -r kept $COVE_HOME >/dev/null").code, 0) << "the search would not find anything";
  EXPECT_EQ(run("grep -rl first-secret $COVE_HOME").out, "");
  EXPECT_EQ(run("MY_TOKEN=second-secret cove start p; cove sh p 'echo $MY_TOKEN $PLAIN $X'").out,
            "p\nsecond-secret kept 7\n");
}

TEST_F(Cli, APersistentSandboxKeepsItsSession) {
  run("cove create --persistent p; cove sh p 'X=kept; cd /'");
  EXPECT_EQ(run("cove stop p").code, 0);
  EXPECT_EQ(run("cove sh p true").code, 125);
  EXPECT_EQ(run("cove start p").out, "p\n");
  EXPECT_EQ(run("cove sh p 'echo $X; pwd'").out, "kept\n/\n");
}

}  // namespace
