// Instances of apptainer, as a user without privileges.

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "engines/engine.h"

namespace cove::engines {
namespace {

namespace fs = std::filesystem;

// What apptainer itself says, in words for bash.
Done apptainer(const std::string& words) {
  auto program = testing_helpers::start_program({"/bin/bash", "-c", std::getenv("COVE_ENGINE") + (" " + words)});
  if (!program) return {-1, program.error().text(), ""};
  const int code = program->finish();
  return {code, program->heard, ""};
}

bool has_instance(const std::string& sandbox) {
  return apptainer("instance list").out.find("-" + sandbox) != std::string::npos;
}

std::string instance_of(const std::string& sandbox) {
  const std::string list = apptainer("instance list").out;
  const std::size_t end = list.find("-" + sandbox) + 1 + sandbox.size(), begin = list.rfind("cove-", end);
  return list.substr(begin, end - begin);
}

std::string scratch() { return home().path() + "/apptainer"; }

bool has_files(const std::string& sandbox) {
  for (const auto& entry : fs::directory_iterator(scratch() + "/sandboxes")) {
    if (entry.path().string().ends_with("-" + sandbox)) return true;
  }
  return false;
}

void expect_refused(const SandboxSpec& spec, Errc code, const std::string& remedy) {
  const auto made = Sandbox::create(spec, soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, code) << made.error().text();
  EXPECT_NE(made.error().message.find(remedy), std::string::npos) << made.error().text();
  EXPECT_FALSE(fs::exists(home().path() + "/sandboxes/" + spec.name));
  EXPECT_FALSE(fs::exists(scratch()) && has_files(spec.name));
}

SandboxSpec by_script(const std::string& name, const std::string& script) {
  SandboxSpec spec = make_spec();
  const std::string program = home().make_directory(name) + "/apptainer";
  std::ofstream(program) << "#!/bin/sh\n" + script + "\n";
  fs::permissions(program, fs::perms(0755));
  spec.set_option("engine", program);
  return spec;
}

TEST(Apptainer, ItRunsInTheImageAsOneselfAndSeesNothingElse) {
  setenv("APPTAINER_BIND", "/etc:/etc-of-the-host", 1);
  setenv("APPTAINERENV_LEAK", "leaked", 1);
  SandboxSpec spec = make_spec();
  const std::string data = home().make_directory("data"), other = home().make_directory("other");
  std::ofstream(data + "/f") << "shown\n";
  spec.volumes = {data + ":/data:ro", other + ":/other"};
  testing_helpers::set_env(spec, "SECRET", "not-in-argv");
  Sandbox sandbox = create(spec);
  unsetenv("APPTAINER_BIND");
  unsetenv("APPTAINERENV_LEAK");
  EXPECT_EQ(said(sandbox, "id -u; pwd; echo $HOME; touch ~/f /workspace/f /tmp/f && echo ok"),
            std::to_string(geteuid()) + "\n/workspace\n/root\nok\n");
  EXPECT_EQ(said(sandbox, "ls -d /etc-of-the-host " + home().path() + " 2>/dev/null; echo $LEAK"), "\n");
  EXPECT_EQ(said(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"), "lo\n");
  EXPECT_EQ(said(sandbox, "cat /data/f; touch /data/g 2>/dev/null || echo read-only; touch /other/g"),
            "shown\nread-only\n");
  EXPECT_TRUE(fs::exists(other + "/g"));
  EXPECT_EQ(said(sandbox, "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status | cut -f2"), "0000000000000000\n1\n");
  EXPECT_EQ(said(sandbox, "ps ax | grep -c '[c]ove_apptainer'"), "0\n") << "others' processes are not seen";
  EXPECT_EQ(said(sandbox, "echo $SECRET"), "not-in-argv\n");
  EXPECT_EQ(testing_helpers::describe(testing_helpers::processes_with_argument("not-in-argv")), "");
  EXPECT_TRUE(has_instance(spec.name));
  ASSERT_TRUE(sandbox.stop({}, soon()));
  EXPECT_FALSE(has_instance(spec.name));
  EXPECT_FALSE(has_files(spec.name));
}

TEST(Apptainer, SessionsStayAndATimeoutEndsTheTreeAndNothingElse) {
  Sandbox sandbox = create(make_spec());
  EXPECT_EQ(said(sandbox, "cd /tmp; X=1; f() { echo $X; }; exit 5"), "");
  EXPECT_EQ(said(sandbox, "pwd; f"), "/tmp\n1\n");
  const std::string nap = "7432." + std::to_string(getpid());
  const auto ended =
      sandbox.run({.script = "setsid sleep " + nap + " & echo part; sleep " + nap, .timeout = 300ms}, {}, soon());
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(ended->ending, Ending::timeout);
  EXPECT_TRUE(eventually([&] { return testing_helpers::processes_with_argument(nap).empty(); }));
  EXPECT_EQ(said(sandbox, "echo on"), "on\n");
}

TEST(Apptainer, AKeeperThatIsKilledLeavesNoInstanceAndGcItsFiles) {
  SandboxSpec spec = lasting_spec();
  Sandbox sandbox = create(spec);
  const std::string nap = "7433." + std::to_string(getpid());
  ASSERT_TRUE(sandbox.start({.script = "setsid sleep " + nap + " & sleep " + nap}, soon()));
  EXPECT_TRUE(eventually([&] { return testing_helpers::processes_with_argument(nap).size() == 2; }));
  kill(keeper_of(spec.name), SIGKILL);
  EXPECT_TRUE(eventually([&] { return testing_helpers::processes_with_argument(nap).empty(); }));
  EXPECT_TRUE(eventually([&] { return !has_instance(spec.name); })) << apptainer("instance list").out;
  EXPECT_NE(run_cove({"gc"}).out.find("instance " + spec.name), std::string::npos);
  EXPECT_FALSE(has_files(spec.name));
  EXPECT_EQ(run_cove({"gc"}).out, "");
  EXPECT_EQ(run_cove({"rm", "--force", spec.name}).code, 0);
}

TEST(Apptainer, APersistentOneKeepsAllItsFiles) {
  SandboxSpec spec = lasting_spec();
  spec.persistent = true;
  Sandbox sandbox = create(spec);
  EXPECT_EQ(said(sandbox, "echo 1 >/opt/f; echo 2 >/workspace/f; echo 3 >~/f; cd /opt; X=4; echo ok"), "ok\n");
  ASSERT_TRUE(sandbox.stop({}, soon()));
  EXPECT_FALSE(has_instance(spec.name));
  EXPECT_EQ(run_cove({"gc"}).out, "") << "a stopped sandbox keeps its files";
  auto again = Sandbox::restart(spec.name, soon());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(said(*again, "cat /opt/f /workspace/f ~/f; pwd; echo $X"), "1\n2\n3\n/opt\n4\n");
  ASSERT_TRUE(again->stop({}, soon()));
  ASSERT_TRUE(Sandbox::remove(spec.name, soon()));
  EXPECT_FALSE(has_files(spec.name));
}

TEST(Apptainer, AnInstanceThatIsStoppedFromOutsideLosesTheCommand) {
  const SandboxSpec spec = make_spec();
  Sandbox sandbox = create(spec);
  const std::string nap = "7434." + std::to_string(getpid());
  std::thread stopper([&] {
    eventually([&] { return !testing_helpers::processes_with_argument(nap).empty(); });
    apptainer("instance stop --force " + instance_of(spec.name));
  });
  const auto ended = sandbox.run({.script = "sleep " + nap}, {}, soon());
  stopper.join();
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(ended->ending, Ending::lost);
  EXPECT_NE(ended->detail.find("its instance is gone"), std::string::npos) << ended->detail;
}

TEST(Apptainer, NoAttemptOfTheSelftestBreaksIt) {
  const Done done = run_cove({"selftest", "--backend", "apptainer"}, {"COVE_ATTEMPT=" COVE_TEST_ATTEMPT});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_NE(done.out.find(" held, 0 broken"), std::string::npos) << done.out;
}

TEST(Apptainer, AnImageOfAnAddressIsBuiltOnceAndRuns) {
  const std::string archive = home().root() + "/image.tar";
  const std::string root = home().make_directory("busybox");
  fs::create_directories(root + "/bin");
  fs::copy_file("/bin/busybox", root + "/bin/busybox");
  for (const char* name : {"sh", "cat", "ls"}) fs::create_symlink("busybox", root + "/bin/" + name);
  ASSERT_EQ(run_cove({"image", "import", root, "mine:1"}).code, 0);
  ASSERT_EQ(run_cove({"image", "save", "mine:1", "--format", "docker", "-o", archive}).code, 0);
  SandboxSpec spec = make_spec();
  spec.image = "docker-archive:" + archive;
  {
    Sandbox sandbox = create(spec);
    EXPECT_EQ(said(sandbox, "echo 1 >/bin/f; cat /bin/f"), "1\n");
  }
  ASSERT_TRUE(fs::remove(archive));
  spec = make_spec();
  spec.image = "docker-archive:" + archive;
  Sandbox again = create(spec);
  EXPECT_EQ(said(again, "ls /bin"), "busybox\ncat\nls\nsh\n");
}

TEST(ApptainerBadDay, WhatCannotBeIsRefusedWithTheWayOut) {
  SandboxSpec spec = make_spec();
  spec.image = "/nowhere/x.sif";
  expect_refused(spec, Errc::not_found, "give a .sif file");
  spec = make_spec();
  spec.image = "docker://127.0.0.1:1/nothing:here";
  expect_refused(spec, Errc::disconnected, "the registry cannot be reached");
  spec.pull = "never";
  expect_refused(spec, Errc::not_found, "--pull missing");
  spec = make_spec();
  spec.disk_bytes = 1 << 30;
  expect_refused(spec, Errc::unsupported, "--disk");
  spec = make_spec();
  spec.net = "full";
  expect_refused(spec, Errc::unsupported, "--net full");
  expect_refused(by_script("odd", "[ $2 != stop ] || echo 'no instance found'; echo what; exit 255"), Errc::unsupported,
                 "start the instance");
  const Done doctor = run_cove({"doctor"}, {"COVE_ENGINE=/nowhere/apptainer"});
  EXPECT_NE(doctor.out.find("--engine /nowhere/apptainer"), std::string::npos) << doctor.out;
}

// Whether it has made an instance is not known, so that what it may use stays until it answers again.
TEST(ApptainerBadDay, AProgramThatHangsIsGivenUpInTime) {
  setenv("COVE_ENGINE_TIMEOUT", "1", 1);
  const SandboxSpec spec = by_script("hanging", "exec sleep 1000");
  const auto began = Clock::now();
  const auto made = Sandbox::create(spec, soon());
  unsetenv("COVE_ENGINE_TIMEOUT");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::timeout) << made.error().text();
  EXPECT_LT(Clock::now() - began, kPatience);
  EXPECT_FALSE(fs::exists(home().path() + "/sandboxes/" + spec.name));
  by_script("hanging", "echo 'FATAL:   no instance found' >&2; exit 255");
  EXPECT_NE(run_cove({"gc"}).out.find("instance " + spec.name), std::string::npos);
  EXPECT_FALSE(has_files(spec.name));
}

}  // namespace
}  // namespace cove::engines
