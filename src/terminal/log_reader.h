#pragma once

#include "client/cove.h"
#include "terminal/redact.h"

namespace cove::terminal {

// Which part of a command's raw log: from an offset, or its end.
struct LogPage {
  std::uint64_t from = 0;
  std::uint64_t last_bytes = 0;  // not 0: so much of the end instead
  std::uint64_t limit = std::uint64_t{1} << 20;
};

struct LogPart {
  Outcome outcome;  // how the command stands
  std::uint64_t begin = 0;
  // Raw bytes; while the command runs neither half a character nor half an escape sequence at the end.
  std::string text;
};

Result<LogPart> read_log(Sandbox& sandbox, const std::string& id, const LogPage& page, const Call& call);

// The last `chars` characters of these bytes, as text without secrets.
std::string last_text(std::string_view bytes, std::size_t chars, const Redaction& redaction);

}  // namespace cove::terminal
