#pragma once

// `cove mcp install`: the entry that makes a client start this server, shown or merged into the client's own file.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::mcp {

// A program that reads a list of MCP servers from a file.
struct ClientProgram {
  enum class Form : unsigned char { json, toml };
  std::string_view name, title;
  std::string_view path;  // below the home directory
  std::string_view key;   // what the list is called
  Form form = Form::json;
  bool says_type = false;  // entries say that they are of type "stdio"
};
std::span<const ClientProgram> client_programs();
const ClientProgram* find_client_program(std::string_view name);

struct ServerEntry {
  std::string name, command;
  std::vector<std::string> args;
};

// The whole file, had it only this entry.
std::string entry_text(const ClientProgram& client, const ServerEntry& entry);

// The file's text with the entry in it, all else as it was (JSON is laid out anew). nullopt: it is there already.
// invalid: the file is broken; conflict: a TOML file has another entry of that name.
Result<std::optional<std::string>> merge_entry(const ClientProgram& client, const std::string& text,
                                               const ServerEntry& entry);

// Merges it into the file, which is written aside and renamed; what was there is kept as FILE.before-cove. What was
// done, as a sentence.
Result<std::string> install_entry(const ClientProgram& client, const std::string& file, const ServerEntry& entry);

}  // namespace cove::mcp
