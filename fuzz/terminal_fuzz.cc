// What a command prints is hostile: any bytes become text without escape sequences, the same in whatever pieces they
// come; what is masked is valid text, too, and not longer than asked for.

#include <algorithm>
#include <string>

#include "fuzz.h"
#include "terminal/bounded.h"
#include "terminal/plain_text.h"
#include "terminal/redact.h"

using namespace cove::terminal;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string text = plain_text(bytes);
  cove::fuzz::require(text.find('\x1B') == std::string::npos && plain_text(text) == text);

  PlainText filter;
  std::string pieces;
  const std::size_t step = size % 7 + 1;
  for (std::size_t at = 0; at < size; at += step) filter.add(bytes.substr(at, step), pieces);
  filter.finish(pieces);
  cove::fuzz::require(pieces == text && complete_prefix(bytes) <= size);

  const Redaction all{.values = {"hunter2hunter2"}, .assignments = true};
  const std::string masked = redact(text, all);
  cove::fuzz::require(plain_text(masked) == masked && masked.find("hunter2hunter2") == std::string::npos);
  const auto bounded = bound({.text = masked}, 1000);
  cove::fuzz::require(count_chars(bounded.text) <= 1001 && plain_text(bounded.text) == bounded.text);
  return 0;
}
