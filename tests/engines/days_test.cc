// Bad days: one sentence with a remedy each, and nothing left behind.

#include <filesystem>
#include <fstream>

#include "engines/engine.h"

namespace cove::engines {
namespace {

Done create_with(const std::vector<std::string>& options, const std::vector<std::string>& env = {}) {
  std::vector<std::string> args{"create", "--backend", backend_name()};
  args.insert(args.end(), options.begin(), options.end());
  args.emplace_back("bad-day");
  return run_cove(args, env);
}

void expect_refused(const Done& done, const std::string& code, const std::string& remedy) {
  EXPECT_EQ(done.code, 125) << done.out << done.err;
  EXPECT_NE(done.err.find(code + ":"), std::string::npos) << done.err;
  EXPECT_NE(done.err.find(remedy), std::string::npos) << done.err;
  EXPECT_FALSE(std::filesystem::exists(home().path() + "/sandboxes/bad-day"));
  EXPECT_EQ(containers_of("bad-day"), "");
}

TEST(BadDay, AnImageThatIsNotThere) {
  expect_refused(create_with({"--image", "cove-test:nowhere", "--pull", "never"}), "not_found", "lists those that are");
}

TEST(BadDay, ARegistryThatDoesNotAnswer) {
  expect_refused(create_with({"--image", "127.0.0.1:1/nothing:here"}), "disconnected", "");
}

TEST(BadDay, AnEngineThatIsNotInstalled) {
  expect_refused(create_with({"--engine", "/nowhere/docker"}), "not_found", "--engine /nowhere/docker");
  expect_refused(create_with({"--engine", "no-such-engine"}), "unsupported", "--engine PATH");
}

TEST(BadDay, AnEngineThatHangs) {
  const std::string path = home().make_directory("hanging") + "/engine";
  std::ofstream(path) << "#!/bin/sh\nexec sleep 1000\n";
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  expect_refused(create_with({"--engine", path}, {"COVE_ENGINE_TIMEOUT=1"}), "timeout", "COVE_ENGINE_TIMEOUT");
}

TEST(BadDay, AnEngineThatSaysNonsense) {
  const std::string path = home().make_directory("nonsense") + "/engine";
  std::ofstream(path) << "#!/bin/sh\necho '{\"x\": [[[1]]], \"host\": 3}'\n";
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  expect_refused(create_with({"--engine", path}), "unsupported", "--engine PATH");
}

TEST(BadDay, AnImageIsNeeded) {
  expect_refused(create_with({"--image", "/"}), "unsupported", "--image");
  const SandboxSpec without = [] {
    SandboxSpec spec = make_spec();
    spec.image.clear();
    return spec;
  }();
  const auto made = Sandbox::create(without, soon());
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("--image NAME"), std::string::npos) << made.error().text();
}

TEST(BadDay, DockerIsPodman) {
  if (backend_name() != "podman") GTEST_SKIP() << "needs podman";
  const Done done = run_cove({"run", "--backend", "docker", "--engine", "podman", "--", "echo $container"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "podman\n");
}

TEST(BadDay, ARuntimeThatTheEngineDoesNotHave) {
  expect_refused(create_with({"--runtime", "no-such-runtime"}), "unsupported", "--runtime");
}

}  // namespace
}  // namespace cove::engines
