#pragma once

// The 512-byte header of POSIX.1-1988 (ustar), which all dialects share, and the text forms of pax (POSIX.1-2001).

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cove::guest {

inline constexpr std::size_t kTarBlock = 512;

struct TarHeader {
  char name[100];
  char mode[8], uid[8], gid[8], size[12], mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[8];  // "ustar\0" "00" by POSIX, "ustar  \0" by GNU, zeros in v7
  char user[32], group[32], device_major[8], device_minor[8];
  char prefix[155];  // POSIX only
  char unused[12];
};
static_assert(sizeof(TarHeader) == kTarBlock);

// Of the block with its checksum field taken as blanks. Old programs summed signed characters.
struct TarChecksums {
  std::int64_t as_unsigned = 0, as_signed = 0;
};
TarChecksums checksums(const TarHeader& header);

// A number field: octal text, or base-256 when the top bit of the first byte is set. nullopt: neither.
std::optional<std::int64_t> parse_number(std::string_view field);

std::optional<std::int64_t> parse_decimal(std::string_view text);
// "-1.5" is 1.5 seconds before the epoch. Digits after the ninth are dropped.
std::optional<timespec> parse_pax_time(std::string_view text);
std::string format_pax_time(const timespec& time);

// What pax and GNU headers say in place of the fixed fields.
struct PaxFields {
  std::optional<std::string> path, link;
  std::optional<std::int64_t> size, uid, gid;
  std::optional<timespec> mtime;
  std::map<std::string, std::string> xattrs;  // by name; star's way to write them, which all others read
};
inline constexpr std::string_view kXattrKey = "SCHILY.xattr.";
// "LENGTH KEY=VALUE\n", one after the other; keys that mean nothing to us are passed over, an empty value takes the
// key away again.
Result<void> apply_pax(std::string_view records, PaxFields& fields);
void append_pax(std::string& records, std::string_view key, std::string_view value);

}  // namespace cove::guest
