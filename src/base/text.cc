#include "base/text.h"

#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>

namespace cove {
namespace {

struct Number {
  double value = 0;
  std::string_view unit;
};

// A plain decimal in front, whatever follows as the unit. No sign, no exponent, no "inf".
bool split_number(std::string_view text, Number& number) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  if (end == 0) return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + end, number.value, std::chars_format::fixed);
  number.unit = text.substr(end);
  return error == std::errc() && stop == text.data() + end;
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto refuse = [&] {
    return fail(Errc::invalid, quoted(text) + " is not a time above zero (as 30, 30s, 5m, 2h, 500ms)");
  };
  Number number;
  if (!split_number(text, number)) return refuse();
  double factor = 0;
  if (number.unit.empty() || number.unit == "s")
    factor = 1000;
  else if (number.unit == "ms")
    factor = 1;
  else if (number.unit == "m")
    factor = 60'000;
  else if (number.unit == "h")
    factor = 3'600'000;
  else if (number.unit == "d")
    factor = 86'400'000;
  const double ms = number.value * factor;
  if (!(ms >= 1) || ms > 1e15) return refuse();
  return std::chrono::milliseconds(std::llround(ms));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto refuse = [&] {
    return fail(Errc::invalid, quoted(text) + " is not a size above zero (as 512m, 2g, 100k, or bytes)");
  };
  Number number;
  if (!split_number(text, number)) return refuse();
  std::string unit(number.unit);
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.size() == 3 && unit.ends_with("ib")) unit.resize(1);
  if (unit.size() == 2 && unit.ends_with("b")) unit.resize(1);
  constexpr std::string_view kUnits = "bkmgt";
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit);
  if (unit.size() > 1 || power == std::string_view::npos) return refuse();
  const double bytes = std::ldexp(number.value, static_cast<int>(power) * 10);
  if (!(bytes >= 1) || bytes > 9e18) return refuse();
  return static_cast<std::uint64_t>(bytes);
}

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size() && value > 0) return value;
  return fail(Errc::invalid, quoted(text) + " is not a whole number above zero");
}

Result<double> parse_decimal(std::string_view text) {
  Number number;
  if (split_number(text, number) && number.unit.empty() && number.value > 0) return number.value;
  return fail(Errc::invalid, quoted(text) + " is not a number above zero");
}

Result<int> parse_signal(std::string_view text) {
  if (const auto number = parse_count(text); number && *number < NSIG) return static_cast<int>(*number);
  std::string name(text);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int number = 1; number < NSIG; ++number) {
    const char* known = sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return fail(Errc::invalid, quoted(text) + " is not a signal (as TERM, SIGTERM or 15)");
}

std::string seconds_text(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", static_cast<double>(time.count()) / 1000);
  std::string trimmed(text);
  trimmed.erase(trimmed.find_last_not_of('0') + 1);
  if (trimmed.ends_with('.')) trimmed.pop_back();
  return trimmed + "s";
}

std::string age_text(std::chrono::seconds age) {
  const auto count = std::max<std::int64_t>(age.count(), 0);
  if (count < 120) return std::to_string(count) + "s";
  if (count < 7200) return std::to_string(count / 60) + "m";
  if (count < 172'800) return std::to_string(count / 3600) + "h";
  return std::to_string(count / 86'400) + "d";
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string join_words(std::span<const std::string> words) {
  std::string joined;
  for (const std::string& word : words) {
    if (&word != words.data()) joined += ' ';
    joined += word;
  }
  return joined;
}

}  // namespace cove
