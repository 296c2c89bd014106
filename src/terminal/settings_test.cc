#include "terminal/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "terminal/request.h"

namespace cove::terminal {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
namespace fs = std::filesystem;

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/cove-settings-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    home_ = path;
    setenv("XDG_CONFIG_HOME", path, 1);
  }
  void TearDown() override { fs::remove_all(home_); }
  void write(const std::string& text) const {
    fs::create_directories(home_ / "cove");
    std::ofstream(home_ / "cove" / "config.toml") << text;
  }
  static Settings settings(const policy::HostEnv& host, const Json& overrides = {}) {
    auto read = read_settings(host, overrides);
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : Settings{};
  }
  static std::string error(const policy::HostEnv& host, const Json& overrides = {}) {
    const auto read = read_settings(host, overrides);
    return read ? "" : read.error().message;
  }
  fs::path home_;
};

TEST_F(SettingsTest, WithoutAnythingItIsAWalledSandboxThatEndsWithItsCaller) {
  const Settings plain = settings({});
  EXPECT_EQ(plain.spec.backend, "auto");
  EXPECT_EQ(plain.timeout, 180s);
  EXPECT_EQ(plain.lifetime, 300s);
  EXPECT_EQ(plain.spec.idle_timeout_ms, 300'000U);
  EXPECT_EQ(plain.spec.cwd, "/workspace");
  EXPECT_FALSE(plain.spec.persistent);
}

TEST_F(SettingsTest, TheReferencesVariablesAreUnderstood) {
  const Settings docker = settings({{"TERMINAL_ENV", "docker"},
                                    {"TERMINAL_DOCKER_IMAGE", "debian:12"},
                                    {"TERMINAL_TIMEOUT", "60"},
                                    {"TERMINAL_LIFETIME_SECONDS", "30"},
                                    {"TERMINAL_CONTAINER_CPU", "1.5"},
                                    {"TERMINAL_CONTAINER_MEMORY", "512"},
                                    {"TERMINAL_DOCKER_VOLUMES", R"(["/a:/b", "no colon", 5])"},
                                    {"TERMINAL_DOCKER_ENV", R"({"1BAD": "x", "LIST": [1], "FIVE": 5, "T": "v"})"},
                                    {"TERMINAL_DOCKER_FORWARD_ENV", R"(["MY_TOKEN"])"},
                                    {"TERMINAL_DOCKER_NETWORK", "false"}});
  EXPECT_EQ(docker.spec.backend, "docker");
  EXPECT_EQ(docker.spec.image, "debian:12");
  EXPECT_EQ(docker.timeout, 60s);
  EXPECT_EQ(docker.lifetime, 30s);
  EXPECT_EQ(docker.spec.cpus, 1.5);
  EXPECT_EQ(docker.spec.memory_bytes, 512U << 20);
  EXPECT_EQ(docker.spec.volumes, std::vector<std::string>{"/a:/b"});
  EXPECT_EQ(docker.env, (std::vector<std::string>{"FIVE=5", "T=v"}));
  EXPECT_EQ(docker.forward_env, std::vector<std::string>{"MY_TOKEN"});
  EXPECT_EQ(docker.spec.net, "none");
  EXPECT_TRUE(docker.spec.persistent);
  EXPECT_EQ(docker.warnings.size(), 4U);
}

TEST_F(SettingsTest, ABadValueIsAnErrorThatNamesIt) {
  EXPECT_NE(error({{"TERMINAL_TIMEOUT", "5m"}}).find("TERMINAL_TIMEOUT"), std::string::npos);
  EXPECT_NE(error({{"TERMINAL_TIMEOUT", "0"}}).find("integer"), std::string::npos);
  EXPECT_NE(error({{"TERMINAL_ENV", "docker"}, {"TERMINAL_CONTAINER_MEMORY", "much"}}), "");
  EXPECT_NE(error({{"TERMINAL_ENV", "docker"}, {"TERMINAL_DOCKER_EXTRA_ARGS", R"(["--privileged"])"}}), "");
  EXPECT_NE(error({{"COVE_TERMINAL_PERSISTENT", "maybe"}}).find("COVE_TERMINAL_PERSISTENT"), std::string::npos);
  EXPECT_NE(error({}, {{"nonsense", 1}}).find("nonsense"), std::string::npos);
}

TEST_F(SettingsTest, ValuesOfContainersDoNotMatterWhereThereIsNone) {
  const Settings local = settings({{"TERMINAL_ENV", "local"},
                                   {"TERMINAL_CONTAINER_MEMORY", "much"},
                                   {"TERMINAL_DOCKER_VOLUMES", "{"},
                                   {"TERMINAL_CWD", "/tmp"}});
  EXPECT_EQ(local.spec.backend, "local");
  EXPECT_EQ(local.spec.cwd, "/tmp");
  EXPECT_EQ(local.spec.memory_bytes, 0U);
}

TEST_F(SettingsTest, ADirectoryOfTheHostIsNotOneInside) {
  EXPECT_EQ(settings({{"TERMINAL_ENV", "native"}, {"TERMINAL_CWD", "/home/me/project"}}).spec.cwd, "/workspace");
  EXPECT_EQ(settings({{"TERMINAL_ENV", "native"}, {"TERMINAL_CWD", "."}}).spec.cwd, "/workspace");
  EXPECT_EQ(settings({{"TERMINAL_ENV", "native"}, {"TERMINAL_CWD", "/srv"}}).spec.cwd, "/srv");
}

TEST_F(SettingsTest, FileThenReferenceThenOwnVariablesThenTheCall) {
  write(
      "backend = \"native\"\ntimeout = 10\n[terminal]\ntimeout = \"20s\"\npersistent = true\nforward_env = [\"A\"]\n");
  EXPECT_EQ(settings({}).timeout, 20s);
  EXPECT_TRUE(settings({}).spec.persistent);
  EXPECT_EQ(settings({}).forward_env, std::vector<std::string>{"A"});
  EXPECT_EQ(settings({{"TERMINAL_TIMEOUT", "30"}}).timeout, 30s);
  EXPECT_EQ(settings({{"TERMINAL_TIMEOUT", "30"}, {"COVE_TERMINAL_TIMEOUT", "40s"}}).timeout, 40s);
  EXPECT_EQ(settings({{"COVE_TERMINAL_TIMEOUT", "40s"}}, {{"timeout", 50}}).timeout, 50s);
  EXPECT_EQ(settings({{"TERMINAL_ENV", "local"}, {"COVE_BACKEND", "native"}}).spec.backend, "native");
  EXPECT_EQ(settings({}, {{"env_type", "docker"}, {"docker_image", "x:1"}, {"memory", 64}}).spec.memory_bytes,
            64U << 20);
  write("[terminal]\nnonsense = 1\n");
  EXPECT_NE(error({}).find("config.toml:2: unknown key 'nonsense'"), std::string::npos) << error({});
}

TEST(Request, WrongTypesAreNamed) {
  EXPECT_EQ(parse_request({{"command", 5}}).error().message, "Invalid command: expected string, got int");
  EXPECT_NE(parse_request({{"code", "x"}}).error().message.find("'code'"), std::string::npos);
  for (const Json& timeout : {Json(0), Json(-1), Json("5"), Json(true)})
    EXPECT_FALSE(parse_request({{"command", "x"}, {"timeout", timeout}})) << timeout;
  EXPECT_TRUE(parse_request({{"command", "x"}, {"timeout", nullptr}, {"task_id", nullptr}}));
  EXPECT_FALSE(parse_request(Json::array()));
}

TEST(Request, DirectoriesOfAnyLanguageAreFineAndShellTextIsNot) {
  for (const char* good : {"/tmp", "r\xC3\xA9pertoire (1)", "~/a b", "a+b@c=d,e"})
    EXPECT_TRUE(check_workdir(good)) << good;
  for (const char* bad : {"a;rm", "$(x)", "a'b", "a\"b", "a\nb", "`x`", "a|b", "a>b"})
    EXPECT_FALSE(check_workdir(bad)) << bad;
}

}  // namespace
}  // namespace cove::terminal
