#include "backend/microsandbox/words.h"

#include <gtest/gtest.h>

namespace cove::microsandbox {
namespace {

// The lines of `msb create --help` and `msb exec --help` that matter, as 0.7.2 and an older one print them.
constexpr const char* kCreate072 =
    "      --no-net\n          Disable all network access by default.\n      --net <PROFILE>\n"
    "      --no-dns-rebind-protection\n";
constexpr const char* kExec072 = "      --stream\n          Stream stdin/stdout bidirectionally without a PTY\n";
constexpr const char* kCreateOld = "      --no-network\n          Disable network access\n";

TEST(MicrosandboxWords, TheProgramIsAskedHowToDoWithoutANetwork) {
  EXPECT_EQ(read_help(kCreate072, kExec072).no_net, "--no-net");
  EXPECT_TRUE(read_help(kCreate072, kExec072).stream);
  EXPECT_EQ(read_help(kCreateOld, "").no_net, "--no-network");
  EXPECT_FALSE(read_help(kCreateOld, "").stream);
  EXPECT_EQ(read_help("      --net <PROFILE>\n", "").no_net, "");
}

TEST(MicrosandboxWords, ASandboxIsWrittenOut) {
  SandboxSpec spec{.name = "t", .image = "alpine", .cpus = 1.2, .memory_bytes = (256U << 20) + 1};
  spec.max_duration_ms = 1500;
  spec.volumes = {"/a:/b:ro"};
  spec.env = {{"SECRET", "value"}};
  const Takes takes = read_help(kCreate072, kExec072);
  ASSERT_TRUE(check(spec, takes));
  EXPECT_EQ(create_words(spec, takes, "cove-1-t", "/g"),
            (std::vector<std::string>{"create", "--name", "cove-1-t", "--quiet", "--replace", "--cpus", "2", "--memory",
                                      "257M", "--no-net", "--max-duration", "2s", "--volume", "/g:/cove:ro", "--volume",
                                      "/a:/b:ro", "alpine"}));
  spec.net = "full";
  spec.persistent = true;
  EXPECT_EQ(
      create_words(spec, takes, "n", "/g"),
      (std::vector<std::string>{"create", "--name", "n", "--quiet", "--cpus", "2", "--memory", "257M", "--max-duration",
                                "2s", "--volume", "/g:/cove:ro", "--volume", "/a:/b:ro", "alpine"}));
  EXPECT_EQ(exec_words(takes, "n"),
            (std::vector<std::string>{"exec", "--quiet", "--stream", "n", "--", "/cove/cove-guest", "--stdio"}));
}

TEST(MicrosandboxWords, WhatMsbCannotDoIsRefusedByName) {
  const Takes takes = read_help(kCreate072, kExec072);
  const auto why = [&](const SandboxSpec& spec, const Takes& of) {
    const auto checked = check(spec, of);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_NE(why({}, takes).find("--image"), std::string::npos);
  EXPECT_NE(why({.image = "a", .pids = 3}, takes).find("--pids"), std::string::npos);
  EXPECT_NE(why({.image = "a", .disk_bytes = 3}, takes).find("--disk"), std::string::npos);
  EXPECT_NE(why({.image = "a", .net = "host"}, takes).find("--net host"), std::string::npos);
  EXPECT_NE(why({.image = "a", .volumes = {"/a:/b:cow"}}, takes).find(":cow"), std::string::npos);
  EXPECT_NE(why({.image = "a"}, read_help("", "")).find("network"), std::string::npos);
  EXPECT_EQ(why({.image = "a", .net = "full"}, read_help("", "")), "");
}

}  // namespace
}  // namespace cove::microsandbox
