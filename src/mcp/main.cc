// cove-mcp: what `cove mcp` runs. Apart from `cove`, because it serves HTTP with libraries that every other command
// would pay for when it starts.

#include <sys/signalfd.h>

#include <csignal>
#include <cstdlib>
#include <exception>

#include "cli/mcp.h"
#include "cli/print.h"
#include "mcp/http.h"
#include "mcp/install.h"
#include "mcp/stdio.h"
#include "mcp/token.h"
#include "mcp/tools.h"

namespace cove::mcp {
namespace {

// Can be read when this process is told to end. Blocked here and in every thread that is made later.
UniqueFd end_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Result<HttpRules> make_rules(const cli::McpOptions& options, const Listening& listening) {
  HttpRules rules{.hosts = options.hosts, .origins = options.origins};
  COVE_TRY(rules.token, find_token(options.token_file));
  if (!listening.loopback && rules.token.empty())
    return fail(Errc::denied,
                listening.address + " can be reached from elsewhere: give a token with --token-file or COVE_MCP_TOKEN");
  if (!listening.loopback) rules.hosts.push_back(listening.address);
  if (!listening.loopback) rules.hosts.push_back("[" + listening.address + "]");
  return rules;
}

Result<void> serve(const cli::McpOptions& options) {
  const UniqueFd stop = end_signals();
  if (!stop) return fail_errno("wait for signals");
  Sandboxes sandboxes({.spec = options.spec, .shared = options.shared, .all = options.all});
  Server server(make_tools(sandboxes), {.version = COVE_VERSION, .instructions = instructions()});
  if (options.http.empty()) {
    unsetenv("COVE_MCP_TOKEN");
    serve_stdio(server, {.in = 0, .out = 1, .stop = stop.get()});
  } else {
    COVE_TRY(const Listening listening, listen_http(options.http));
    COVE_TRY(auto rules, make_rules(options, listening));
    const bool six = listening.address.find(':') != std::string::npos;
    const std::string host = six ? "[" + listening.address + "]" : listening.address;
    cli::print("http://" + host + ":" + std::to_string(listening.port) + "/mcp\n");
    serve_http(server, listening, std::move(rules), stop.get());
  }
  server.stop();
  sandboxes.end_all();
  return {};
}

int serve(std::vector<std::string> words) {
  cli::Arguments arguments(cli::kMcp);
  cli::McpOptions options;
  define(arguments, options);
  if (const auto code = arguments.parse(std::move(words))) return *code;
  if (options.http.empty() && !options.token_file.empty()) return arguments.usage_error("--token-file is for --http");
  if (options.spec.persistent) return arguments.usage_error("--persistent: clients ask for that by 'keep', for each");
  const auto served = serve(options);
  return served ? 0 : cli::report(served.error());
}

std::string known_clients() {
  std::string names;
  for (const ClientProgram& client : client_programs()) names += (names.empty() ? "" : ", ") + std::string(client.name);
  return names;
}

Result<void> install(const ClientProgram& client, const cli::McpInstallOptions& options) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return fail(Errc::invalid, "HOME is not set");
  const std::string file = options.file.empty() ? std::string(home) + "/" + std::string(client.path) : options.file;
  ServerEntry entry{.name = options.name, .command = options.program, .args = {"mcp"}};
  entry.args.insert(entry.args.end(), options.words.begin(), options.words.end());
  if (!options.write) {
    cli::print("# " + std::string(client.title) + ": " + file + "\n" + entry_text(client, entry));
    return {};
  }
  COVE_TRY(const std::string told, install_entry(client, file, entry));
  cli::print(told);
  return {};
}

int install(std::vector<std::string> words) {
  cli::Arguments arguments(cli::kMcpInstall);
  cli::McpInstallOptions options;
  define(arguments, options);
  if (const auto code = arguments.parse(std::move(words))) return *code;
  const bool named = !options.client.empty();
  if (!named && (options.write || !options.file.empty()))
    return arguments.usage_error("name a client: " + known_clients());
  if (!cli::is_entry_name(options.name)) return arguments.usage_error("--name: letters, digits, - and _ only");
  if (options.program.empty()) {
    const char* self = std::getenv("COVE_PROGRAM");
    options.program = self != nullptr && *self != '\0' ? self : "cove";
  }
  if (named) {
    const ClientProgram* client = find_client_program(options.client);
    if (client == nullptr) return arguments.usage_error("there are " + known_clients());
    const auto done = install(*client, options);
    return done ? 0 : cli::report(done.error());
  }
  for (const ClientProgram& client : client_programs()) {
    if (const auto done = install(client, options); !done) return cli::report(done.error());
  }
  return 0;
}

}  // namespace
}  // namespace cove::mcp

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  try {
    if (words.empty() || words[0] != "install") return cove::mcp::serve(std::move(words));
    words.erase(words.begin());
    return cove::mcp::install(std::move(words));
  } catch (const std::exception& error) {
    cove::cli::complain(std::string("internal error: ") + error.what());
    return cove::cli::kOwnError;
  }
}
