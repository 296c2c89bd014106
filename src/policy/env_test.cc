#include "policy/env.h"

#include <gtest/gtest.h>

#include "policy/secrets.h"

namespace cove::policy {
namespace {

std::string value_of(const SandboxSpec& spec, const std::string& name) {
  for (const auto& [key, value] : spec.env) {
    if (key == name) return value;
  }
  return "(none)";
}

SandboxSpec filled(const std::string& backend, const EnvRequest& request, const HostEnv& host) {
  SandboxSpec spec;
  spec.backend = backend;
  const auto done = fill_env(spec, request, host);
  EXPECT_TRUE(done) << done.error().message;
  return spec;
}

const HostEnv kHost{{"PATH", "/host/bin"},      {"MY_TOOL", "1"},      {"OPENAI_API_KEY", "s"},
                    {"openai_api_key", "s"},    {"GITHUB_TOKEN", "s"}, {"AWS_SECRET_ACCESS_KEY", "a"},
                    {"SSH_AUTH_SOCK", "/x"},    {"COVE_HOME", "/h"},   {"MY_SERVICE_TOKEN", "t"},
                    {"GITHUB_WORKSPACE", "/w"}, {"HOME", "/home/u"}};

TEST(EnvPolicy, LocalInheritsTheHostWithoutProviderSecrets) {
  const SandboxSpec spec = filled("local", {}, kHost);
  EXPECT_EQ(value_of(spec, "PATH"), "/host/bin");
  EXPECT_EQ(value_of(spec, "MY_TOOL"), "1");
  EXPECT_EQ(value_of(spec, "GITHUB_WORKSPACE"), "/w");
  EXPECT_EQ(value_of(spec, "OPENAI_API_KEY"), "(none)");
  EXPECT_EQ(value_of(spec, "openai_api_key"), "(none)");
  EXPECT_EQ(value_of(spec, "GITHUB_TOKEN"), "(none)");
  EXPECT_EQ(value_of(spec, "COVE_HOME"), "(none)");
}

TEST(EnvPolicy, LocalKeepsTheAwsChainAndTheSshAgent) {
  const SandboxSpec spec = filled("local", {}, kHost);
  EXPECT_EQ(value_of(spec, "AWS_SECRET_ACCESS_KEY"), "a");
  EXPECT_EQ(value_of(spec, "SSH_AUTH_SOCK"), "/x");
}

TEST(EnvPolicy, IsolatingBackendsSeeOnlyTheBase) {
  const SandboxSpec spec = filled("native", {}, kHost);
  EXPECT_EQ(spec.env.size(), 7U);
  EXPECT_EQ(value_of(spec, "MY_TOOL"), "(none)");
  EXPECT_NE(value_of(spec, "PATH"), "/host/bin");
}

TEST(EnvPolicy, WhatAnImageSaysIsLeftToItsEngine) {
  const SandboxSpec spec = filled("docker", {}, kHost);
  EXPECT_EQ(spec.env.size(), 1U);
  EXPECT_NE(value_of(spec, "TERM"), "(none)");
}

TEST(EnvPolicy, ASecretIsForwardedOnlyByItsName) {
  SandboxSpec spec = filled("docker", {.set = {}, .forward = {"*"}}, kHost);
  EXPECT_EQ(value_of(spec, "MY_TOOL"), "1");
  EXPECT_EQ(value_of(spec, "OPENAI_API_KEY"), "(none)");
  EXPECT_EQ(value_of(spec, "AWS_SECRET_ACCESS_KEY"), "(none)");
  EXPECT_EQ(value_of(spec, "MY_SERVICE_TOKEN"), "(none)");
  EXPECT_EQ(value_of(spec, "COVE_HOME"), "(none)");
  spec = filled("docker", {.set = {}, .forward = {"OPENAI_API_KEY"}}, kHost);
  EXPECT_EQ(value_of(spec, "OPENAI_API_KEY"), "s");
  EXPECT_EQ(spec.env_names_forwarded, std::vector<std::string>{"OPENAI_API_KEY"});
}

TEST(EnvPolicy, SetWinsOverForwardAndBase) {
  const SandboxSpec spec =
      filled("local", {.set = {"PATH=/mine", "MY_TOOL=a=b", "EMPTY="}, .forward = {"MY_TOOL"}}, kHost);
  EXPECT_EQ(value_of(spec, "PATH"), "/mine");
  EXPECT_EQ(value_of(spec, "MY_TOOL"), "a=b");
  EXPECT_EQ(value_of(spec, "EMPTY"), "");
  EXPECT_TRUE(spec.env_names_forwarded.empty());
}

TEST(EnvPolicy, BadNamesAreRefusedByName) {
  SandboxSpec spec;
  for (const char* bad : {"1BAD=x", "A B=x", "=x", "a-b=x"}) {
    const auto refused = fill_env(spec, {.set = {bad}, .forward = {}}, kHost);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Errc::invalid);
  }
  EXPECT_FALSE(fill_env(spec, {.set = {}, .forward = {"1X"}}, kHost));
  const auto no_value = fill_env(spec, {.set = {"FOO"}, .forward = {}}, kHost);
  ASSERT_FALSE(no_value);
  EXPECT_NE(no_value.error().message.find("--forward-env FOO"), std::string::npos);
}

TEST(EnvPolicy, NamesAreJudgedInAnyCase) {
  EXPECT_TRUE(is_provider_secret("telegram_bot_token"));
  EXPECT_TRUE(is_provider_secret("GATEWAY_RELAY_X_SECRET"));
  EXPECT_FALSE(is_provider_secret("GATEWAY_RELAY_URL"));
  EXPECT_FALSE(is_provider_secret("AWS_PROFILE"));
  EXPECT_FALSE(looks_secret("EDITOR"));
}

}  // namespace
}  // namespace cove::policy
