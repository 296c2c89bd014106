#include "mcp/install.h"

#include <toml++/toml.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json_text.h"
#include "mcp/private_file.h"

namespace cove::mcp {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson json_entry(const ClientProgram& client, const ServerEntry& entry) {
  OrderedJson json;
  if (client.says_type) json["type"] = "stdio";
  json["command"] = entry.command;
  json["args"] = entry.args;
  return json;
}

std::string toml_quote(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', true); }

// As Codex wants it; strings are quoted as JSON does, which TOML's basic strings understand.
std::string toml_entry(const ClientProgram& client, const ServerEntry& entry) {
  std::string args;
  for (const std::string& word : entry.args) args += (args.empty() ? "" : ", ") + toml_quote(word);
  return "[" + std::string(client.key) + "." + entry.name + "]\ncommand = " + toml_quote(entry.command) + "\nargs = [" +
         args + "]\n";
}

Result<std::optional<std::string>> merge_json(const ClientProgram& client, const std::string& text,
                                              const ServerEntry& entry) {
  const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
  if (!blank && parse_json(text).is_discarded())
    return fail(Errc::invalid, "it is not JSON: mend it first, or add the entry by hand");
  OrderedJson json = blank ? OrderedJson::object() : OrderedJson::parse(text, nullptr, false);
  const std::string key(client.key);
  if (!json.is_object() || (json.contains(key) && !json[key].is_object()))
    return fail(Errc::invalid, "it is not an object with an object '" + key + "' in it");
  OrderedJson& place = json[key][entry.name];
  OrderedJson wanted = json_entry(client, entry);
  if (place == wanted) return std::nullopt;
  place = std::move(wanted);
  return json.dump(2) + "\n";
}

Result<std::optional<std::string>> merge_toml(const ClientProgram& client, const std::string& text,
                                              const ServerEntry& entry) {
  try {
    const toml::table table = toml::parse(text);
    const toml::node_view there = table[client.key][entry.name];
    if (!there) return text + (text.empty() || text.ends_with('\n') ? "" : "\n") + toml_entry(client, entry);
    const toml::table wanted = toml::parse(toml_entry(client, entry));
    if (there.is_table() && *there.as_table() == *wanted[client.key][entry.name].as_table()) return std::nullopt;
    return fail(Errc::conflict, "it has another entry " + std::string(client.key) + "." + entry.name +
                                    ": remove that one, or choose another name with --name");
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid, "it is not TOML: " + std::string(error.description()) + ": mend it first");
  }
}

}  // namespace

std::span<const ClientProgram> client_programs() {
  using enum ClientProgram::Form;
  static constexpr ClientProgram all[] = {
      {"claude-desktop", "Claude Desktop", ".config/Claude/claude_desktop_config.json", "mcpServers", json, false},
      {"claude-code", "Claude Code", ".claude.json", "mcpServers", json, true},
      {"cursor", "Cursor", ".cursor/mcp.json", "mcpServers", json, false},
      {"vscode", "Visual Studio Code", ".config/Code/User/mcp.json", "servers", json, true},
      {"codex", "Codex", ".codex/config.toml", "mcp_servers", toml, false},
      {"gemini", "Gemini CLI", ".gemini/settings.json", "mcpServers", json, false},
      {"windsurf", "Windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers", json, false},
      {"lm-studio", "LM Studio", ".lmstudio/mcp.json", "mcpServers", json, false},
  };
  return all;
}

const ClientProgram* find_client_program(std::string_view name) {
  const auto all = client_programs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ClientProgram& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string entry_text(const ClientProgram& client, const ServerEntry& entry) {
  if (client.form == ClientProgram::Form::toml) return toml_entry(client, entry);
  OrderedJson json;
  json[std::string(client.key)][entry.name] = json_entry(client, entry);
  return json.dump(2) + "\n";
}

Result<std::optional<std::string>> merge_entry(const ClientProgram& client, const std::string& text,
                                               const ServerEntry& entry) {
  if (client.form == ClientProgram::Form::toml) return merge_toml(client, text, entry);
  return merge_json(client, text, entry);
}

Result<std::string> install_entry(const ClientProgram& client, const std::string& file, const ServerEntry& entry) {
  COVE_TRY(const auto before, read_if_there(file));
  auto merged = merge_entry(client, before.value_or(""), entry);
  if (!merged) return fail(std::move(merged).error().because(file));
  if (!*merged) return file + " has the entry already\n";
  std::string kept;
  if (before) {
    kept = file + ".before-cove";
    COVE_CHECK(replace_file(kept, *before, file));
  }
  COVE_CHECK(replace_file(file, **merged, file));
  return file + " written" + (kept.empty() ? "" : "; what it was is in " + kept) + "\n";
}

}  // namespace cove::mcp
