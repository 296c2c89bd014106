#include "image/credentials.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "image/base64.h"

namespace {

namespace fs = std::filesystem;
using cove::image::base64;
using cove::image::credentials_in;
using cove::image::find_credentials;
using cove::image::from_base64;

std::string auths(const std::string& key, const std::string& user_and_password) {
  return R"({"auths": {")" + key + R"(": {"auth": ")" + base64(user_and_password) + "\"}}}";
}

std::string user_in(const std::string& text, const std::string& registry, const std::string& repository = "a/b") {
  const auto found = credentials_in(text, "config.json", registry, repository);
  if (!found) return found.error().text();
  return *found ? (*found)->user + "/" + (*found)->password : "none";
}

class CredentialFiles : public testing::Test {
 protected:
  CredentialFiles() {
    std::string form = testing::TempDir() + "cove-cred-XXXXXX";
    folder_ = mkdtemp(form.data());
    for (const char* name : {"HOME", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "PATH"}) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value != nullptr ? value : "");
    }
    setenv("HOME", folder_.c_str(), 1);
    setenv("XDG_RUNTIME_DIR", (folder_ + "/run").c_str(), 1);
    unsetenv("DOCKER_CONFIG");
  }
  ~CredentialFiles() override {
    for (const auto& [name, value] : before_) {
      if (value.empty()) unsetenv(name.c_str());
      if (!value.empty()) setenv(name.c_str(), value.c_str(), 1);
    }
    fs::remove_all(folder_);
  }
  void write(const std::string& path, const std::string& text, fs::perms mode = fs::perms(0600)) const {
    fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
    fs::permissions(folder_ + "/" + path, mode);
  }
  // A helper that gives back what it was asked for and what its arguments were.
  void make_helper(const std::string& name, const std::string& script) const {
    write("bin/docker-credential-" + name, "#!/bin/sh\n" + script, fs::perms(0700));
    setenv("PATH", (folder_ + "/bin:/usr/bin:/bin").c_str(), 1);
  }
  std::string folder_;

 private:
  std::vector<std::pair<std::string, std::string>> before_;
};

TEST(Credentials, KeysAreHostsInAllTheirForms) {
  EXPECT_EQ(user_in(auths("localhost:5000", "me:pass:word"), "localhost:5000"), "me/pass:word");
  EXPECT_EQ(user_in(auths("https://quay.io/v1/", "me:p"), "quay.io"), "me/p");
  EXPECT_EQ(user_in(auths("https://index.docker.io/v1/", "me:p"), "docker.io"), "me/p");
  EXPECT_EQ(user_in(auths("quay.io/a", "me:p"), "quay.io"), "me/p");
  EXPECT_EQ(user_in(auths("quay.io/other", "me:p"), "quay.io"), "none");
  EXPECT_EQ(user_in(auths("quay.io.evil.example", "me:p"), "quay.io"), "none");
  EXPECT_EQ(user_in("{}", "quay.io"), "none");
}

TEST(Credentials, DamagedFilesAreErrorsThatNameThemAndShowNoSecret) {
  EXPECT_NE(user_in("{", "quay.io").find("config.json"), std::string::npos);
  EXPECT_NE(user_in(R"({"auths": {"quay.io": {"auth": "%%%%"}}})", "quay.io").find("damaged"), std::string::npos);
  EXPECT_EQ(user_in(R"({"auths": [], "credHelpers": 3, "credsStore": {}})", "quay.io"), "none");
  const std::string said =
      user_in(R"({"auths": {"quay.io": {"auth": ")" + base64("nocolon-hunter2") + "\"}}}", "quay.io");
  EXPECT_EQ(said.find("hunter2"), std::string::npos) << said;
}

TEST(Credentials, AHelperNameWithAPathIsRefused) {
  EXPECT_NE(user_in(R"({"credsStore": "../../tmp/x"})", "quay.io").find("no name"), std::string::npos);
}

TEST_F(CredentialFiles, HelpersAreToldTheRegistryOnStdin) {
  make_helper("test", "read host; printf '{\"Username\":\"%s\",\"Secret\":\"%s\"}' \"$host\" \"$*\"\n");
  EXPECT_EQ(user_in(R"({"credHelpers": {"quay.io": "test"}})", "quay.io"), "quay.io/get");
  EXPECT_EQ(user_in(R"({"credsStore": "test"})", "docker.io"), "https://index.docker.io/v1//get");
}

TEST_F(CredentialFiles, AHelperMayHaveNoneAndMayFail) {
  make_helper("none", "echo 'credentials not found in native keychain'; exit 1\n");
  make_helper("bad", "echo boom >&2; exit 3\n");
  EXPECT_EQ(user_in(R"({"credsStore": "none"})", "quay.io"), "none");
  EXPECT_NE(user_in(R"({"credsStore": "bad"})", "quay.io").find("exited with 3"), std::string::npos);
  EXPECT_NE(user_in(R"({"credsStore": "not-there"})", "quay.io").find("docker-credential-not-there"),
            std::string::npos);
}

TEST_F(CredentialFiles, DockersComesBeforePodmans) {
  write("run/containers/auth.json", auths("quay.io", "podman:p"));
  auto found = find_credentials("quay.io", "a");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->user, "podman");
  write(".docker/config.json", auths("quay.io", "docker:p"));
  found = find_credentials("quay.io", "a");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->user, "docker");
  write("elsewhere/config.json", auths("quay.io", "named:p"));
  setenv("DOCKER_CONFIG", (folder_ + "/elsewhere").c_str(), 1);
  found = find_credentials("quay.io", "a");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->user, "named");
}

TEST(Base64, GoesBothWays) {
  for (const char* text : {"", "a", "ab", "abc", "user:pass"}) EXPECT_EQ(from_base64(base64(text)), text);
  EXPECT_FALSE(from_base64("a"));
  EXPECT_FALSE(from_base64("%%%%"));
}

}  // namespace
