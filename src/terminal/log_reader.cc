#include "terminal/log_reader.h"

#include "terminal/plain_text.h"

namespace cove::terminal {

Result<LogPart> read_log(Sandbox& sandbox, const std::string& id, const LogPage& page, const Call& call) {
  LogPart part;
  COVE_TRY(part.outcome, sandbox.status(id, call));
  const std::uint64_t end = part.outcome.output_bytes;
  part.begin = page.last_bytes == 0 ? page.from : end > page.last_bytes ? end - page.last_bytes : 0;
  if (part.begin >= end) return part;
  CommandIo io;
  io.leave_on_stop = true;
  io.output = [&](Stream, std::string_view bytes) {
    if (part.text.size() < page.limit) part.text += bytes.substr(0, page.limit - part.text.size());
  };
  COVE_TRY(part.outcome, sandbox.attach({.id = id, .from = part.begin, .follow = false}, io, call));
  const bool more = part.outcome.ending == Ending::running || part.begin + part.text.size() < part.outcome.output_bytes;
  if (const std::size_t whole = complete_prefix(part.text); more && whole > 0) part.text.resize(whole);
  return part;
}

std::string last_text(std::string_view bytes, std::size_t chars, const Redaction& redaction) {
  const std::string text = redact(plain_text(bytes), redaction);
  const std::string_view shown = trimmed(text);
  std::size_t at = shown.size();
  while (at > 0 && chars > 0) {
    if ((shown[--at] & 0xC0) != 0x80) --chars;
  }
  return std::string(shown.substr(at));
}

}  // namespace cove::terminal
