#include "spec/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cove::spec {
namespace {

class ConfigurationFile : public testing::Test {
 protected:
  ConfigurationFile() {
    std::string form = testing::TempDir() + "cove-config-XXXXXX";
    directory_ = mkdtemp(form.data());
    path_ = directory_ + "/config.toml";
  }
  ~ConfigurationFile() override { std::filesystem::remove_all(directory_); }

  Result<void> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_configuration_file(path_, spec_);
  }
  std::string error_of(const std::string& text) {
    auto done = read(text);
    return done ? "" : done.error().message;
  }

  std::string directory_, path_;
  SandboxSpec spec_;
};

TEST_F(ConfigurationFile, SetsWhatItNames) {
  ASSERT_TRUE(
      read("backend = \"docker\"\ntimeout = 30\nidle_timeout = \"2h\"\nmemory = \"512m\"\ncpus = 1.5\npids = 64\n"));
  EXPECT_EQ(spec_.backend, "docker");
  EXPECT_EQ(spec_.timeout_ms, 30'000U);
  EXPECT_EQ(spec_.idle_timeout_ms, 7'200'000U);
  EXPECT_EQ(spec_.memory_bytes, std::uint64_t{512} << 20);
  EXPECT_EQ(spec_.cpus, 1.5);
  EXPECT_EQ(spec_.pids, 64U);
}

TEST_F(ConfigurationFile, ThatIsNotThereSaysNothing) {
  EXPECT_TRUE(read_configuration_file(directory_ + "/nope/config.toml", spec_));
}

TEST_F(ConfigurationFile, WithAnUnknownKeyNamesFileLineAndTheKnownOnes) {
  const std::string error = error_of("timeout = 30\n\ntimeot = 5\n");
  EXPECT_NE(error.find(path_ + ":3: unknown key 'timeot'"), std::string::npos) << error;
  EXPECT_NE(error.find("known keys: backend, image, net, timeout,"), std::string::npos) << error;
}

TEST_F(ConfigurationFile, WithABadValueNamesFileLineAndKey) {
  EXPECT_NE(error_of("\ntimeout = \"5x\"\n").find(path_ + ":2: timeout: '5x'"), std::string::npos);
  EXPECT_NE(error_of("timeout = 0\n").find(path_ + ":1: timeout: "), std::string::npos);
  EXPECT_NE(error_of("timeout = [1]\n").find("must be a string, a number, true or false"), std::string::npos);
}

TEST_F(ConfigurationFile, WithBrokenSyntaxNamesFileAndLine) {
  EXPECT_NE(error_of("timeout = 30\nbackend = \n").find(path_ + ":2: "), std::string::npos);
}

TEST_F(ConfigurationFile, IsOverruledByTheEnvironment) {
  std::filesystem::create_directories(directory_ + "/cove");
  std::ofstream(directory_ + "/cove/config.toml") << "timeout = 30\npids = 7\n";
  setenv("XDG_CONFIG_HOME", directory_.c_str(), 1);
  setenv("COVE_TIMEOUT", "5m", 1);
  EXPECT_TRUE(read_configuration(spec_));
  EXPECT_EQ(spec_.timeout_ms, 300'000U);
  EXPECT_EQ(spec_.pids, 7U);
  setenv("COVE_TIMEOUT", "5x", 1);
  const auto bad = read_configuration(spec_);
  unsetenv("COVE_TIMEOUT");
  unsetenv("XDG_CONFIG_HOME");
  ASSERT_FALSE(bad);
  EXPECT_TRUE(bad.error().message.starts_with("COVE_TIMEOUT: '5x'")) << bad.error().message;
}

TEST(Settings, HaveOneNameInThreeSpellings) {
  for (const Setting& setting : settings()) {
    if (setting.key != "idle_timeout") continue;
    EXPECT_EQ(option_name(setting), "--idle-timeout");
    EXPECT_EQ(environment_name(setting), "COVE_IDLE_TIMEOUT");
    return;
  }
  FAIL() << "idle_timeout is gone";
}

TEST(BackendOptions, AreSettingsLikeOthers) {
  SandboxSpec spec;
  for (const Setting& setting : settings()) {
    if (setting.key == "kernel") {
      ASSERT_TRUE(setting.set(spec, "/boot/k"));
    }
    if (setting.key == "accel") {
      EXPECT_FALSE(setting.set(spec, "magic"));
    }
    if (setting.key == "fresh") {
      EXPECT_TRUE(setting.is_switch);
    }
  }
  EXPECT_EQ(spec.option("kernel"), "/boot/k");
}

TEST(BackendOptions, OfAnotherBackendAreRefusedIfAskedForAndDroppedIfConfigured) {
  SandboxSpec spec;
  spec.backend = "native";
  spec.set_option("kernel", "/boot/k");
  const auto refused = settle_options(spec, {"kernel"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--kernel: backend native has no such option"), std::string::npos);
  EXPECT_NE(refused.error().message.find("microvm"), std::string::npos);
  ASSERT_TRUE(settle_options(spec, {}));
  EXPECT_TRUE(spec.options.empty());
}

TEST(BackendOptions, OfTheBackendStayAndASwitchThatIsOffGoes) {
  SandboxSpec spec;
  spec.backend = "microvm";
  spec.set_option("kernel", "/boot/k");
  spec.set_option("fresh", "false");
  ASSERT_TRUE(settle_options(spec, {"kernel", "fresh"}));
  EXPECT_EQ(spec.option("kernel"), "/boot/k");
  EXPECT_EQ(spec.option("fresh"), "");
}

}  // namespace
}  // namespace cove::spec
