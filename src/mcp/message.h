#pragma once

// JSON-RPC as MCP uses it: one message in, read and judged; texts of messages out. Pure functions of a stranger's
// bytes.
//
// There are two eras. A legacy client opens with `initialize` (revisions up to 2025-11-25); a modern one (2026-07-28)
// says with each request which revision it speaks, in `_meta`. The era is a property of each message: one server, even
// one connection, serves both.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/json_box.h"

namespace cove::mcp {

using Json = nlohmann::json;

inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602,
                     kInternalError = -32603, kHeaderMismatch = -32020, kUnsupportedVersion = -32022;

// Newest first.
std::span<const std::string_view> modern_versions();
std::span<const std::string_view> legacy_versions();
Json supported_versions();

// In bytes: of one message, and of a string that is an id.
inline constexpr std::size_t kMostMessage = std::size_t{8} << 20, kMostId = 256;

enum class Era : unsigned char { legacy, modern };

struct Message {
  enum class Kind : unsigned char { request, notification, response };
  Kind kind = Kind::request;
  Era era = Era::legacy;
  JsonBox id;           // a string or a whole number; null if it is no request
  std::string method;   // "" for a response
  JsonBox params;       // an object
  std::string version;  // modern: the revision
};

// Why a message is not served. `id` is the request's, or null if it has none that can be told.
struct Refusal {
  int code = kInvalidRequest;
  std::string message;
  JsonBox id;
  JsonBox data;
};

std::variant<Message, Refusal> read_message(std::string_view text);

// Messages as one line of text; strings that are not UTF-8 are made so.
std::string result_text(const Json& id, const Json& result);
std::string error_text(const Refusal& refusal);
std::string notification_text(std::string_view method, const Json& params);

}  // namespace cove::mcp
