#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cove {

// Of a file's bytes, to compare what is inside with what is outside without printing it (FNV-1a).
inline std::string digest_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return std::to_string(hash) + "-" + std::to_string(bytes.size());
}

}  // namespace cove
