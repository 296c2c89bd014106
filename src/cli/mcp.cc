#include "cli/mcp.h"

#include <algorithm>
#include <cstdlib>

#include "cli/companion.h"
#include "cli/subcommand.h"
#include "client/launch.h"

namespace cove::cli {
namespace {

// The program that makes keepers is this one, wherever it stands.
int run_mcp(Arguments&, std::vector<std::string> words) {
  setenv("COVE_PROGRAM", keeper_program().c_str(), 1);
  return become_program("cove-mcp", "COVE_MCP_PROGRAM", std::move(words));
}

}  // namespace

void define(Arguments& arguments, McpOptions& options) {
  arguments.text("--http", options.http, "ADDRESS:PORT",
                 "Serve HTTP at /mcp on this address instead of stdin and stdout");
  arguments.text("--token-file", options.token_file, "FILE",
                 "Require this bearer token (or COVE_MCP_TOKEN); required unless ADDRESS is loopback");
  arguments.texts("--allow-host", options.hosts, "NAME", "Also serve requests for this Host");
  arguments.texts("--allow-origin", options.origins, "ORIGIN", "Also serve requests with this Origin");
  arguments.texts("--share", options.shared, "NAME", "Let clients use this sandbox in addition to their own");
  arguments.flag("--all", options.all, "Let clients use all your sandboxes and snapshots");
  define(arguments, options.spec);
}

void define(Arguments& arguments, McpInstallOptions& options) {
  arguments.positional(
      "CLIENT", options.client, Need::optional,
      "claude-desktop, claude-code, cursor, vscode, codex, gemini, windsurf, lm-studio; all if not given");
  arguments.flag("--write", options.write, "Merge it into the client's configuration file; keep a backup");
  arguments.text("--name", options.name, "NAME", "Set the server's name in the client; default cove");
  arguments.text("--program", options.program, "PATH", "Set the program that the client starts; default: this one");
  arguments.text("--file", options.file, "FILE", "Write to this file instead of the client's default");
  arguments.rest("OPTIONS", options.words, Need::optional);
}

bool is_entry_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

const Command kMcp{
    .name = "mcp",
    .usage = "[install] [OPTIONS]",
    .summary = "Serve sandboxes to AI agents through the Model Context Protocol",
    .examples =
        "  cove mcp                                   on stdin and stdout, as clients start it\n"
        "  cove mcp --http 127.0.0.1:8931\n"
        "  cove mcp --volume \"$PWD:/workspace:cow\" --memory 2g\n"
        "  cove mcp install claude-code --write       see 'cove mcp install --help'",
    .run = run_mcp,
    .describe = describe_with<McpOptions>,
};

const Command kMcpInstall{
    .name = "mcp install",
    .usage = "[CLIENT] [--write] [-- OPTIONS]",
    .summary = "Print or write the client configuration that starts 'cove mcp'",
    .examples =
        "  cove mcp install\n"
        "  cove mcp install cursor --write\n"
        "  cove mcp install codex --write -- --net full --memory 2g",
    .run = run_mcp,
    .describe = describe_with<McpInstallOptions>,
};

}  // namespace cove::cli
