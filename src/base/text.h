#pragma once

// Words of the command line as values, and values as words.

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove {

// "30", "30s", "5m", "2h", "500ms"; more than nothing. Errors say what is understood.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
// "512m", "2g", "100k" (powers of 1024), or bytes; more than nothing.
Result<std::uint64_t> parse_size(std::string_view text);
Result<std::uint64_t> parse_count(std::string_view text);  // a whole number above zero
Result<double> parse_decimal(std::string_view text);       // above zero
// "TERM", "SIGTERM", "term", "15".
Result<int> parse_signal(std::string_view text);

// "1s", "0.5s", "90s": as in "timed out after 1s".
std::string seconds_text(std::chrono::milliseconds time);
// "3s", "5m", "2h", "4d": an age in a table.
std::string age_text(std::chrono::seconds age);
// "12 B", "3.4 KiB".
std::string size_text(std::uint64_t bytes);

// Valid UTF-8; every maximal part of a broken sequence becomes one U+FFFD.
std::string to_utf8(std::string_view bytes);
// A JSON string with its quotes; `text` may be any bytes.
std::string json_quote(std::string_view text);

// COMMAND: its words joined by spaces, as ssh does.
std::string join_words(std::span<const std::string> words);

}  // namespace cove
