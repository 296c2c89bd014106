#pragma once

#include "mcp/server.h"

namespace cove::mcp {

// One client behind two descriptors, a message per line. Returns when it has closed its end, or when `stop` can be
// read: calls get a second to finish then, and are cancelled after that. Descriptors are lent.
struct Pipes {
  int in = 0, out = 1, stop = -1;
};
void serve_stdio(Server& server, const Pipes& pipes);

}  // namespace cove::mcp
