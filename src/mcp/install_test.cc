#include "mcp/install.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace cove::mcp {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const ServerEntry kEntry{.name = "cove", .command = "/opt/my \"cove\"", .args = {"mcp", "--memory", "2g"}};

class McpInstall : public testing::Test {
 protected:
  McpInstall() {
    std::string path = "/tmp/cove-mcp-install-XXXXXX";
    directory_ = mkdtemp(path.data());
  }
  ~McpInstall() override { fs::remove_all(directory_); }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  static void write(const std::string& file, const std::string& text) { std::ofstream(file) << text; }
  static std::string read(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string directory_;
};

TEST_F(McpInstall, EveryClientGetsAnEntryThatItCanRead) {
  for (const ClientProgram& client : client_programs()) {
    const std::string file = path(std::string(client.name) + "/deep/file");
    ASSERT_TRUE(install_entry(client, file, kEntry)) << client.name;
    EXPECT_EQ(read(file), entry_text(client, kEntry)) << client.name;
    if (client.form == ClientProgram::Form::json) {
      const Json entry = Json::parse(read(file))[std::string(client.key)]["cove"];
      EXPECT_EQ(entry["command"], kEntry.command);
      EXPECT_EQ(entry["args"], kEntry.args);
    }
    struct stat info;
    ASSERT_EQ(stat(file.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
  }
}

TEST_F(McpInstall, WhatElseIsInTheFileStaysAndWhatItWasIsKept) {
  const ClientProgram& client = *find_client_program("cursor");
  const std::string before = R"({"z": 1, "mcpServers": {"other": {"command": "x"}}, "a": [1, 2]})";
  write(path("f"), before);
  chmod(path("f").c_str(), 0640);
  ASSERT_TRUE(install_entry(client, path("f"), kEntry));
  const Json json = Json::parse(read(path("f")));
  EXPECT_EQ(json["z"], 1);
  EXPECT_EQ(json["a"], Json::parse("[1, 2]"));
  EXPECT_EQ(json["mcpServers"]["other"]["command"], "x");
  EXPECT_LT(read(path("f")).find("\"z\""), read(path("f")).find("\"a\""));
  EXPECT_EQ(read(path("f.before-cove")), before);
  struct stat info;
  ASSERT_EQ(stat(path("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
  // A second time there is nothing to do.
  const std::string after = read(path("f"));
  ASSERT_TRUE(install_entry(client, path("f"), kEntry));
  EXPECT_EQ(read(path("f")), after);
  EXPECT_EQ(read(path("f.before-cove")), before);
}

TEST_F(McpInstall, BrokenFilesAreLeftAlone) {
  for (const char* text : {"{", "{\"mcpServers\": []}", "[]", "{\"a\": 1} // comment", "7"}) {
    write(path("f"), text);
    EXPECT_FALSE(install_entry(*find_client_program("cursor"), path("f"), kEntry)) << text;
    EXPECT_EQ(read(path("f")), text);
  }
  write(path("t"), "a = [");
  EXPECT_FALSE(install_entry(*find_client_program("codex"), path("t"), kEntry));
  EXPECT_EQ(read(path("t")), "a = [");
  EXPECT_FALSE(fs::exists(path("f.before-cove")));
}

TEST_F(McpInstall, TomlIsAppendedToAndNeverReplaced) {
  const ClientProgram& codex = *find_client_program("codex");
  write(path("t"), "# mine\nmodel = \"x\"\n[mcp_servers.other]\ncommand = \"y\"");
  ASSERT_TRUE(install_entry(codex, path("t"), kEntry));
  EXPECT_EQ(read(path("t")),
            "# mine\nmodel = \"x\"\n[mcp_servers.other]\ncommand = \"y\"\n" + entry_text(codex, kEntry));
  const std::string after = read(path("t"));
  ASSERT_TRUE(install_entry(codex, path("t"), kEntry));
  EXPECT_EQ(read(path("t")), after);
  ServerEntry other = kEntry;
  other.args.clear();
  const auto refused = install_entry(codex, path("t"), other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
}

TEST_F(McpInstall, ALinkStaysALink) {
  fs::create_directory(path("dotfiles"));
  write(path("dotfiles/real"), "{}");
  fs::create_symlink("dotfiles/real", path("f"));
  ASSERT_TRUE(install_entry(*find_client_program("cursor"), path("f"), kEntry));
  EXPECT_TRUE(fs::is_symlink(path("f")));
  EXPECT_TRUE(Json::parse(read(path("dotfiles/real"))).contains("mcpServers"));
}

}  // namespace
}  // namespace cove::mcp
