#include "guest/tar_format.h"

#include <algorithm>
#include <limits>

namespace cove::guest {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Two's complement, big-endian; the top bit of the first byte marks the form, the next one is the sign.
std::optional<std::int64_t> parse_base256(std::string_view field) {
  const auto first = static_cast<unsigned char>(field[0]);
  const bool negative = (first & 0x40) != 0;
  std::int64_t value = negative ? static_cast<std::int64_t>(first & 0x7f) - 0x80 : (first & 0x3f);
  for (const char c : field.substr(1)) {
    if (value > kMax / 256 || value < -(kMax / 256)) return std::nullopt;
    value = value * 256 + static_cast<unsigned char>(c);
  }
  return value;
}

std::optional<std::int64_t> parse_octal(std::string_view field) {
  const std::size_t from = std::min(field.find_first_not_of(' '), field.size());
  const std::size_t to = std::min(field.find_first_of(std::string_view(" \0", 2), from), field.size());
  std::int64_t value = 0;
  for (const char c : field.substr(from, to - from)) {
    if (c < '0' || c > '7' || value > kMax / 8) return std::nullopt;
    value = value * 8 + (c - '0');
  }
  return value;
}

bool set_number(std::optional<std::int64_t>& field, std::string_view value) {
  field = value.empty() ? std::nullopt : parse_decimal(value);
  return value.empty() || field;
}

bool set_time(std::optional<timespec>& field, std::string_view value) {
  field = value.empty() ? std::nullopt : parse_pax_time(value);
  return value.empty() || field;
}

void set_text(std::optional<std::string>& field, std::string_view value) {
  if (value.empty())
    field.reset();
  else
    field = value;
}

Failure bad_record() { return fail(Errc::protocol, "a pax header of the archive is broken"); }

Result<void> apply_record(std::string_view key, std::string_view value, PaxFields& fields) {
  bool good = true;
  if (key == "path")
    set_text(fields.path, value);
  else if (key == "linkpath")
    set_text(fields.link, value);
  else if (key == "size")
    good = set_number(fields.size, value);
  else if (key == "uid")
    good = set_number(fields.uid, value);
  else if (key == "gid")
    good = set_number(fields.gid, value);
  else if (key == "mtime")
    good = set_time(fields.mtime, value);
  else if (key.starts_with(kXattrKey))
    fields.xattrs[std::string(key.substr(kXattrKey.size()))] = value;
  else if (key.starts_with("GNU.sparse."))
    return fail(Errc::unsupported, "the archive has sparse entries; make it without --sparse");
  if (!good) return bad_record();
  return {};
}

}  // namespace

TarChecksums checksums(const TarHeader& header) {
  TarChecksums sums;
  const char* bytes = reinterpret_cast<const char*>(&header);
  const std::size_t blank = offsetof(TarHeader, checksum);
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const char c = i >= blank && i < blank + sizeof(header.checksum) ? ' ' : bytes[i];
    sums.as_unsigned += static_cast<unsigned char>(c);
    sums.as_signed += static_cast<signed char>(c);
  }
  return sums;
}

std::optional<std::int64_t> parse_number(std::string_view field) {
  return (static_cast<unsigned char>(field[0]) & 0x80) != 0 ? parse_base256(field) : parse_octal(field);
}

std::optional<std::int64_t> parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > (kMax - 9) / 10) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

std::optional<timespec> parse_pax_time(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto seconds = parse_decimal(text.substr(0, dot));
  if (!seconds) return std::nullopt;
  long nanoseconds = 0, unit = 100'000'000;
  for (const char c : text.substr(std::min(dot + 1, text.size()))) {
    if (c < '0' || c > '9') return std::nullopt;
    nanoseconds += (c - '0') * unit;
    unit /= 10;
  }
  if (!text.starts_with('-') || nanoseconds == 0) return timespec{*seconds, nanoseconds};
  return timespec{*seconds - 1, 1'000'000'000 - nanoseconds};
}

std::string format_pax_time(const timespec& time) {
  const bool negative = time.tv_sec < 0;
  const bool borrow = negative && time.tv_nsec > 0;
  const std::int64_t whole = borrow ? time.tv_sec + 1 : time.tv_sec;
  std::string text = negative ? "-" + std::to_string(-whole) : std::to_string(whole);
  if (time.tv_nsec == 0) return text;
  const std::string digits = std::to_string(borrow ? 1'000'000'000 - time.tv_nsec : time.tv_nsec);
  return text + "." + std::string(9 - digits.size(), '0') + digits;
}

Result<void> apply_pax(std::string_view records, PaxFields& fields) {
  while (!records.empty()) {
    const std::size_t blank = records.substr(0, 20).find(' ');
    if (blank == std::string_view::npos) return bad_record();
    const auto length = parse_decimal(records.substr(0, blank));
    if (!length || *length < static_cast<std::int64_t>(blank) + 3) return bad_record();
    if (static_cast<std::uint64_t>(*length) > records.size()) return bad_record();
    std::string_view record = records.substr(0, static_cast<std::size_t>(*length));
    records.remove_prefix(record.size());
    if (record.back() != '\n') return bad_record();
    record = record.substr(blank + 1, record.size() - blank - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return bad_record();
    COVE_CHECK(apply_record(record.substr(0, equals), record.substr(equals + 1), fields));
  }
  return {};
}

void append_pax(std::string& records, std::string_view key, std::string_view value) {
  // The length counts its own digits too.
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + std::to_string(rest).size();
  if (rest + std::to_string(length).size() > length) ++length;
  records += std::to_string(length);
  records.append(" ").append(key).append("=").append(value).append("\n");
}

}  // namespace cove::guest
