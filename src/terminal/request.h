#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_box.h"

namespace cove::terminal {

// What a caller asks for, checked. Unknown fields are left alone: callers are of several generations.
struct Request {
  std::string command, task = "default", workdir;
  bool background = false, pty = false, approved = false, open_stdin = false;
  std::optional<std::string> stdin_bytes;
  std::optional<std::chrono::milliseconds> timeout;
  std::uint16_t rows = 30, columns = 120;
  bool notify_on_complete = false;
  std::vector<std::string> watch_patterns;
  JsonBox overrides;  // an object or null
};

// invalid: the sentence for the caller.
Result<Request> parse_request(const nlohmann::json& request);

// Directories go to the guest as they are, and no shell reads them; but one that would mean something to a shell is a
// mistake, or an attempt. Spaces, parentheses and letters of any language are fine.
Result<void> check_workdir(const std::string& workdir);

}  // namespace cove::terminal
