#include "backend/engine/explain.h"

#include <gtest/gtest.h>

#include "backend/engine/names.h"

namespace cove::engine {
namespace {

Error meaning(const std::string& message) {
  return explain(Program("docker", "/usr/bin/docker", {}), {"run"}, {125, "", message});
}

TEST(Explain, EachMessageIsASentenceWithAWayOut) {
  const struct {
    const char *said, *remedy;
    Errc code;
  } cases[] = {
      {"docker: Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?.", "start it",
       Errc::disconnected},
      {"Unable to find image 'x:latest' locally\ndocker: Error response from daemon: pull access denied for x",
       "docker login", Errc::denied},
      {"docker: Error response from daemon: No such image: x:y.\nSee 'docker run --help'.", "docker images",
       Errc::not_found},
      {"Error: write /var/lib/docker/tmp/x: no space left on device", "docker system df", Errc::busy},
      {"docker: Error response from daemon: Conflict. The container name \"/x\" is already in use by container \"y\".",
       "another name", Errc::conflict},
      {"docker: Error response from daemon: --storage-opt is supported only for overlay over xfs with 'pquota' mount",
       "--disk", Errc::unsupported},
      {"docker: Error response from daemon: unknown or invalid runtime name: runsc.", "--runtime", Errc::unsupported},
      {"Error: cannot find UID/GID for user x: no subuid ranges found for user \"x\" in /etc/subuid", "usermod",
       Errc::unsupported},
      {"Error: container-init binary not found on the host: stat /usr/libexec/podman/catatonit: no such file or "
       "directory",
       "install catatonit", Errc::unsupported},
      {"Error: No such container: x", "not there any more", Errc::not_found},
  };
  for (const auto& each : cases) {
    const Error error = meaning(each.said);
    EXPECT_EQ(error.code, each.code) << each.said << "\n" << error.text();
    EXPECT_NE(error.message.find(each.remedy), std::string::npos) << error.text();
  }
}

TEST(Explain, WhatNobodyKnowsIsPassedOnWithoutControlCharacters) {
  const Error error = meaning("docker: Error response from daemon: some\x1b[31mthing.\nSee 'docker run --help'.\n");
  EXPECT_EQ(error.message, "docker run: some [31mthing.");
}

TEST(Names, OneSandboxInTwoHomesIsTwoContainers) {
  EXPECT_NE(container_name("/a", "x"), container_name("/b", "x"));
  EXPECT_TRUE(container_name("/a", "x").starts_with(container_prefix("/a")));
  EXPECT_EQ(home_of("/home/state/sandboxes/x"), "/home/state");
}

}  // namespace
}  // namespace cove::engine
