#pragma once

// The options of `cove mcp`, which is the program cove-mcp: here, so that completions know them.

#include "cli/spec_options.h"

namespace cove::cli {

struct McpOptions {
  SpecOptions spec;
  std::string http, token_file;
  std::vector<std::string> hosts, origins, shared;
  bool all = false;
};
void define(Arguments& arguments, McpOptions& options);

struct McpInstallOptions {
  std::string client, name = "cove", program, file;
  std::vector<std::string> words;  // for the server
  bool write = false;
};
void define(Arguments& arguments, McpInstallOptions& options);
bool is_entry_name(const std::string& name);

extern const Command kMcp, kMcpInstall;

}  // namespace cove::cli
