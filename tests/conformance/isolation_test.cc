// G: what a sandbox is made of and what it cannot see, cases 86-99.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "backend/traits.h"
#include "conformance/fixture.h"
#include "helpers/program.h"

namespace cove::conformance {
namespace {

namespace fs = std::filesystem;
using testing_helpers::backend_name;
using testing_helpers::Done;
using testing_helpers::processes_with_argument;
using testing_helpers::run_cove;

Call soon() { return {.deadline = Deadline::after(5min), .stop = {}}; }

// One of a name, whoever makes it: the way to use a sandbox that others may be using, too.
Result<Sandbox> create_or_open(const SandboxSpec& spec, bool& made) {
  auto sandbox = Sandbox::create(spec, soon());
  made = sandbox.has_value();
  if (sandbox || sandbox.error().code != Errc::conflict) return sandbox;
  eventually([&] { return (sandbox = Sandbox::open(spec.name)).has_value(); });
  return sandbox;
}

TEST_F(Contract, Case086_EightFirstUsesAtOnceMakeOneSandbox) {
  const SandboxSpec spec = make_spec();
  struct User {
    bool made = false;
    Result<Sandbox> sandbox = fail(Errc::internal, "it never returned");
    Result<Completed> ran = fail(Errc::internal, "it never ran");
  };
  std::array<User, 8> users;
  std::vector<std::thread> threads;
  for (User& user : users) {
    threads.emplace_back([&] {
      user.sandbox = create_or_open(spec, user.made);
      if (user.sandbox) user.ran = user.sandbox->sh("echo x >>\"$HOME/" + spec.name + "\"; echo ok", soon());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const User& user : users) {
    ASSERT_TRUE(user.sandbox) << user.sandbox.error().text();
    ASSERT_TRUE(user.ran) << user.ran.error().text();
    EXPECT_EQ(user.ran->output, "ok\n");
  }
  EXPECT_EQ(std::count_if(users.begin(), users.end(), [](const User& user) { return user.made; }), 1);
  EXPECT_RAN(run(*users[0].sandbox, {.script = "grep -c x \"$HOME/" + spec.name + "\""}), 0, "8\n");
}

// A root with nothing but busybox in it. "" where there is no static one.
std::string busybox_root() {
  const std::string root = home().make_directory("busybox-root");
  for (const char* name : {"bin", "etc", "tmp", "root", "proc", "dev", "workspace"})
    fs::create_directory(root + "/" + name);
  std::error_code missing;
  fs::copy_file("/bin/busybox", root + "/bin/busybox", fs::copy_options::skip_existing, missing);
  if (missing) return "";
  for (const char* name : {"sh", "echo", "pwd", "cat", "ls", "env", "grep", "sleep", "kill", "mktemp", "rm"}) {
    fs::create_symlink("busybox", root + "/bin/" + name, missing);
  }
  return root;
}

TEST_F(Contract, Case087_AnImageWithoutBashFallsBackToItsSh) {
  SandboxSpec spec = make_spec();
  spec.image = traits_of(spec.backend).images == Images::engine ? "cove-test:busybox" : busybox_root();
  if (spec.image.empty()) GTEST_SKIP() << "busybox is not installed";
  auto made = Sandbox::create(spec, soon());
  if (!made && made.error().code == Errc::unsupported) GTEST_SKIP() << made.error().message;
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_RAN(
      run(*made, {.script = "echo [$BASH_VERSION]; ls /bin/bash /usr 2>/dev/null; ls -l /bin/sh | grep -c busybox"}), 0,
      "[]\n1\n");
  EXPECT_RAN(run(*made, {.script = "X=kept; cd /etc"}), 0, "");
  EXPECT_RAN(run(*made, {.script = "echo $X; pwd"}), 0, "kept\n/etc\n");
  EXPECT_TRUE(run(*made, {.script = "exit 7"}).exited(7));
}

// The engine's own program, as its users call it.
Done engine(const std::string& words) {
  Done done;
  auto program = testing_helpers::start_program({"/bin/bash", "-c", backend_name() + " " + words});
  if (!program) return done;
  const int code = program->finish();
  return {code, program->heard, ""};
}

std::string containers_of(const std::string& sandbox) {
  return engine("ps --all --quiet --filter label=cove.sandbox=" + sandbox).out;
}

TEST_F(Contract, Case088_ARunThatFailsAfterItsContainerWasMadeLeavesNone) {
  SandboxSpec spec = make_spec();
  if (traits_of(spec.backend).images != Images::engine)
    GTEST_SKIP() << "belongs to container engines: here a start that fails is one call, which leaves nothing (case 93)";
  spec.volumes = {home().make_directory("dir88") + ":/etc/passwd"};  // a directory on a file: seen only by the runtime
  const auto made = Sandbox::create(spec, soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(containers_of(spec.name), "");
  EXPECT_FALSE(fs::exists(home().path() + "/sandboxes/" + spec.name));
}

TEST_F(Contract, Case089_ADaemonThatIsDownIsToldWithAHintAndTheNextCallBeginsAnew) {
  if (backend_name() != "docker")
    GTEST_SKIP() << "belongs to engines with a daemon: backend '" << backend_name() << "' has none";
  const Done down = run_cove({"create", "--backend", "docker", "n89"}, {"DOCKER_HOST=unix:///nowhere/docker.sock"});
  EXPECT_EQ(down.code, 125);
  EXPECT_NE(down.err.find("does not answer"), std::string::npos) << down.err;
  EXPECT_NE(down.err.find("start it"), std::string::npos) << down.err;
  EXPECT_FALSE(fs::exists(home().path() + "/sandboxes/n89"));
  EXPECT_EQ(run_cove({"create", "--backend", "docker", "-e", home().mark(), "n89"}).code, 0);
  EXPECT_EQ(run_cove({"rm", "n89"}).code, 0);
}

TEST_F(Contract, Case090_AContainerRemovedBetweenCallsIsToldAndNothingIsRunAgain) {
  SandboxSpec spec = make_spec();
  if (traits_of(spec.backend).images != Images::engine)
    GTEST_SKIP() << "belongs to container engines: libcove tells that a sandbox is "
                    "gone and runs nothing again";
  spec.owned = false;
  spec.persistent = true;
  const std::string shown = home().make_directory("shown90");
  spec.volumes = {shown + ":/shown90"};
  Sandbox sandbox = create(spec);
  EXPECT_RAN(run(sandbox, {.script = "echo kept >/workspace/file; X=90"}), 0, "");
  const auto job = sandbox.start({.script = "echo ran >>/shown90/runs; sleep 1000"}, soon());
  ASSERT_TRUE(job) << job.error().text();
  ASSERT_TRUE(eventually([&] { return fs::exists(shown + "/runs"); }));
  // All: commands run as soon as the guest answers, and dockerd says only later that their container does.
  const std::string container = containers_of(spec.name);
  ASSERT_NE(container, "");
  ASSERT_EQ(engine("rm --force " + container).code, 0);
  const auto lost = sandbox.attach({.id = *job}, {}, soon());
  if (lost) {
    EXPECT_EQ(lost->ending, Ending::lost);
    EXPECT_NE(lost->detail.find("removed from outside"), std::string::npos) << lost->detail;
  }
  Result<Sandbox> again = fail(Errc::internal, "");
  ASSERT_TRUE(eventually([&] { return (again = Sandbox::restart(spec.name, soon())).has_value(); }))
      << again.error().text();
  EXPECT_NE(again->notes().find("made anew"), std::string::npos) << again->notes();
  EXPECT_RAN(run(*again, {.script = "cat /workspace/file"}), 0, "kept\n");
  EXPECT_EQ(testing_helpers::slurp(shown + "/runs"), "ran\n");
  ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
  EXPECT_EQ(containers_of(spec.name), "");
}

TEST_F(Contract, Case091_ACommandThatPrintsAnEnginesErrorIsNotRunAgain) {
  const Ran ran = sh("echo x >>runs; echo 'Error: No such container: x' >&2; exit 1");
  EXPECT_TRUE(ran.exited(1)) << printable(ran);
  EXPECT_EQ(ran.output, "Error: No such container: x\n");
  EXPECT_RAN(sh("cat runs"), 0, "x\n");
}

// A sandbox of the backend under test by the command line, marked as ours.
Done create_by_cli(const std::vector<std::string>& options, const std::vector<std::string>& env = {}) {
  std::vector<std::string> args{"create", "--backend", backend_name(), "-e", home().mark()};
  args.insert(args.end(), options.begin(), options.end());
  return run_cove(args, env);
}

void expect_refused(const Done& done, const std::vector<std::string>& said) {
  EXPECT_TRUE(done.code == 2 || done.code == 125) << done.code << ": " << done.out << done.err;
  EXPECT_TRUE(done.err.starts_with("cove: ")) << done.err;
  for (const std::string& text : said) EXPECT_NE(done.err.find(text), std::string::npos) << text << " in: " << done.err;
}

// There are no arguments for an engine that could contradict an option; what can be said wrongly is the option itself.
TEST_F(Contract, Case092_ANetworkThatCannotBeIsRefusedWithItsOptionAndThereAreNoExtraArguments) {
  expect_refused(create_by_cli({"--net", "none,host", "n92"}), {"--net", "none,host"});
  expect_refused(create_by_cli({"--net", "none", "--network=host", "n92"}), {"--network"});
  EXPECT_FALSE(Sandbox::open("n92"));
}

TEST_F(Contract, Case093_AVolumeWithoutAColonIsRefusedNotIgnored) {
  for (const char* volume : {"/tmp", "", ":", "/tmp:", ":/x", "/tmp:/x:rx", "relative:/x", "/tmp:relative"}) {
    expect_refused(create_by_cli({"--volume", volume, "n93"}), {"--volume"});
    EXPECT_FALSE(fs::exists(home().path() + "/sandboxes/n93")) << volume;
  }
}

TEST_F(Contract, Case094_ABadVariableNameIsRefusedNotDroppedAndAValueStaysAsItIs) {
  expect_refused(create_by_cli({"-e", "1BAD=x", "n94"}), {"-e", "1BAD"});
  expect_refused(create_by_cli({"-e", "NO_VALUE", "n94"}), {"-e", "NO_VALUE"});
  expect_refused(create_by_cli({"--forward-env", "A-B", "n94"}), {"--forward-env", "A-B"});
  const Done made = create_by_cli({"-e", "FIVE=5", "-e", "LIST=['a', \"b\"]", "n94"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(run_cove({"sh", "n94", "echo $FIVE; echo \"$LIST\""}).out, "5\n['a', \"b\"]\n");
  EXPECT_EQ(run_cove({"rm", "n94"}).code, 0);
}

TEST_F(Contract, Case095_AHostSecretThatIsNotForwardedIsInvisible) {
  const std::string value = "secret-95-" + std::to_string(getpid());
  const std::vector<std::string> env{"OPENAI_API_KEY=" + value, "anthropic_api_key=" + value, "GITHUB_TOKEN=" + value};
  const Done made = create_by_cli({"-e", "SHOWN=shown-95", "n95"}, env);
  ASSERT_EQ(made.code, 0) << made.err;
  const Done seen = run_cove({"sh", "n95", "env; set"}, env);
  EXPECT_NE(seen.out.find("shown-95"), std::string::npos) << "the look would not find anything";
  EXPECT_EQ(seen.out.find(value), std::string::npos) << seen.out;
  // Nor by way of other processes, where there are walls around them: the keeper itself has the host's environment.
  const Done read = run_cove({"sh", "n95", "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"}, env);
  EXPECT_NE(read.out.find("shown-95"), std::string::npos);
  if (backend_name() != "local") {
    EXPECT_EQ(read.out.find(value), std::string::npos) << read.out;
  }
  EXPECT_EQ(run_cove({"rm", "n95"}).code, 0);
}

TEST_F(Contract, Case096_AForwardedSecretIsInsideAndInNoCommandLineOfTheHost) {
  if (const std::string why = why_not_seen_by_host(); !why.empty()) GTEST_SKIP() << why;
  const std::string number = std::to_string(getpid()), value = "secret-96-" + number, nap = "96" + number;
  const Done made = create_by_cli({"--forward-env", "MY_TOKEN", "n96"}, {"MY_TOKEN=" + value});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(run_cove({"sh", "n96", "echo $MY_TOKEN"}).out, value + "\n");
  ASSERT_EQ(run_cove({"sh", "n96", "--background", "--id", "nap", "sleep " + nap}).code, 0);
  EXPECT_TRUE(eventually([&] { return !processes_with_argument(nap).empty(); })) << "the look would not find anything";
  EXPECT_EQ(testing_helpers::describe(processes_with_argument(value)), "");
  if (traits_of(backend_name()).images == Images::engine) {
    const Done shown = engine("inspect " + containers_of("n96"));
    EXPECT_NE(shown.out.find("cove.sandbox"), std::string::npos) << shown.out;
    EXPECT_EQ(shown.out.find(value), std::string::npos) << shown.out;
  }
  EXPECT_EQ(run_cove({"rm", "n96"}).code, 0);
}

TEST_F(Contract, Case097_ASkillThatAsksForASecret) {
  GTEST_SKIP() << "belongs to the terminal tool: skills do not exist below it";
}

TEST_F(Contract, Case098_NamesAreTakenAsTheyAreOrRefusedNeverChanged) {
  for (const std::string& name :
       {std::string("a:b"), std::string("a/b"), std::string("../x"), std::string("Upper"), std::string("."),
        std::string("-x"), std::string("a b"), std::string("\xc3\xa4"), std::string(64, 'a')}) {
    SandboxSpec spec = make_spec();
    spec.name = name;
    const auto made = Sandbox::create(spec, soon());
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, Errc::invalid) << made.error().text();
    EXPECT_NE(made.error().message.find(name), std::string::npos) << made.error().text();
  }
  std::vector<Sandbox> sandboxes;
  const std::vector<std::string> names{
      "a98.b", "a98-b", "a98_b", "a98..b", "a98b", "a98" + std::string(60, 'x'), "a98" + std::string(59, 'x') + "y"};
  for (const std::string& name : names) {
    SandboxSpec spec = make_spec();
    spec.name = name;
    set_env(spec, "MINE", name);
    sandboxes.push_back(create(spec));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(sandboxes[i].name(), names[i]);
    EXPECT_RAN(run(sandboxes[i], {.script = "echo $MINE"}), 0, names[i] + "\n");
  }
}

TEST_F(Contract, Case099_TwoSandboxesDoNotSeeEachOthersFilesOrProcesses) {
  if (const std::string why = why_not_seen_by_host(); !why.empty()) GTEST_SKIP() << why;
  Sandbox one = create(make_spec()), other = create(make_spec());
  const std::string name = "c99-" + std::to_string(getpid());
  const std::string places = "for d in /tmp \"$HOME\" \"$PWD\" /var/tmp /dev/shm; do ";
  EXPECT_RAN(run(one, {.script = "mkdir -p /var/tmp; " + places + "echo secret >$d/" + name + " || exit 1; done"}), 0,
             "");
  if (fs::exists("/tmp/" + name)) {
    EXPECT_RAN(run(one, {.script = places + "rm -f $d/" + name + "; done"}), 0, "");
    GTEST_SKIP() << "backend '" << backend_name() << "' shares the host's files: what it wrote to /tmp is there";
  }
  EXPECT_RAN(run(one, {.script = places + "cat $d/" + name + "; done | sort | uniq -c | tr -d ' '"}), 0, "5secret\n");
  EXPECT_RAN(run(other, {.script = places + "cat $d/" + name + " 2>/dev/null; done; true"}), 0, "");
  EXPECT_RAN(run(other, {.script = "find / -xdev -name " + name + " 2>/dev/null"}), 0, "");
  ASSERT_TRUE(one.start({.script = "sleep 99" + name.substr(4)}, soon()));
  EXPECT_TRUE(eventually([&] { return !processes_with_argument("99" + name.substr(4)).empty(); }));
  EXPECT_RAN(run(other, {.script = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 9[9]'"}), 1,
             "0\n");
}

}  // namespace
}  // namespace cove::conformance
