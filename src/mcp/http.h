#pragma once

// MCP's "streamable HTTP" at /mcp: a POST per message, answered by JSON, or by a stream of events once there is
// progress to tell. A thread per connection, at most kMostConnections.
//
// A legacy client gets a session with its `initialize`: its cancellations find its requests there. A legacy connection
// that breaks cancels nothing, as the protocol wants it; of a modern one it is the cancellation.

#include "base/unique_fd.h"
#include "mcp/http_guard.h"
#include "mcp/server.h"

namespace cove::mcp {

inline constexpr std::size_t kMostConnections = 128, kMostSessions = 256;

struct Listening {
  UniqueFd socket;
  std::string address;  // "127.0.0.1", "::1"
  int port = 0;
  bool loopback = false;
};

// "127.0.0.1:0", "[::1]:8931", "localhost:80", "8931". Port 0 is a free one.
Result<Listening> listen_http(const std::string& where);

// Serves until `stop` can be read; then calls are cancelled and connections closed.
void serve_http(Server& server, const Listening& listening, HttpRules rules, int stop);

}  // namespace cove::mcp
