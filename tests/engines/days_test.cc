// Bad days: one sentence with a remedy each, and nothing left behind.

#include <filesystem>
#include <fstream>

#include "engines/engine.h"

namespace cove::engines {
namespace {

void expect_refused(SandboxSpec spec, Errc code, const std::string& remedy) {
  const auto made = Sandbox::create(spec, soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, code) << made.error().text();
  EXPECT_NE(made.error().message.find(remedy), std::string::npos) << made.error().text();
  EXPECT_FALSE(std::filesystem::exists(home().path() + "/sandboxes/" + spec.name));
  EXPECT_EQ(containers_of(spec.name), "");
}

SandboxSpec of_image(const std::string& image, const std::string& pull = "missing") {
  SandboxSpec spec = make_spec();
  spec.image = image;
  spec.pull = pull;
  return spec;
}

SandboxSpec by_engine(const std::string& engine) {
  SandboxSpec spec = make_spec();
  spec.set_option("engine", engine);
  return spec;
}

// A program that is no engine, but does this.
SandboxSpec by_script(const std::string& name, const std::string& script) {
  const std::string path = home().make_directory(name) + "/engine";
  std::ofstream(path) << "#!/bin/sh\n" + script + "\n";
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  return by_engine(path);
}

TEST(BadDay, AnImageThatIsNotThere) {
  expect_refused(of_image("cove-test:nowhere", "never"), Errc::not_found, "lists those that are");
}

TEST(BadDay, ARegistryThatDoesNotAnswer) {
  expect_refused(of_image("127.0.0.1:1/nothing:here"), Errc::disconnected, "the registry cannot be reached");
}

TEST(BadDay, AnEngineThatIsNotInstalled) {
  expect_refused(by_engine("/nowhere/docker"), Errc::not_found, "--engine /nowhere/docker");
  expect_refused(by_engine("no-such-engine"), Errc::unsupported, "--engine PATH");
}

TEST(BadDay, AnEngineThatHangs) {
  setenv("COVE_ENGINE_TIMEOUT", "1", 1);
  expect_refused(by_script("hanging", "exec sleep 1000"), Errc::timeout, "COVE_ENGINE_TIMEOUT");
  unsetenv("COVE_ENGINE_TIMEOUT");
}

TEST(BadDay, AnEngineThatSaysNonsense) {
  expect_refused(by_script("nonsense", "echo '{\"x\": [[[1]]], \"host\": 3}'"), Errc::unsupported, "--engine PATH");
}

TEST(BadDay, AnImageIsNeeded) {
  expect_refused(of_image("/"), Errc::unsupported, "--image");
  expect_refused(of_image(""), Errc::invalid, "--image NAME");
}

TEST(BadDay, DockerIsPodman) {
  if (backend_name() != "podman") GTEST_SKIP() << "needs podman";
  const Done done = run_cove({"run", "--backend", "docker", "--engine", "podman", "--", "echo $container"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "podman\n");
}

TEST(BadDay, ARuntimeThatTheEngineDoesNotHave) {
  SandboxSpec spec = make_spec();
  spec.set_option("runtime", "no-such-runtime");
  expect_refused(spec, Errc::unsupported, "--runtime");
}

}  // namespace
}  // namespace cove::engines
