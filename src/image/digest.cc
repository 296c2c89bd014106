#include "image/digest.h"

#include <algorithm>

namespace cove::image {

bool is_hex64(std::string_view text) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 64 && std::all_of(text.begin(), text.end(), hex);
}

bool is_digest(std::string_view text) { return text.starts_with(kSha256) && is_hex64(text.substr(kSha256.size())); }

Result<std::string> hex_of(std::string_view digest) {
  if (is_digest(digest)) return std::string(digest.substr(kSha256.size()));
  return fail(Errc::invalid, "'" + std::string(digest.substr(0, 100)) + "' is no digest: sha256: and 64 hex digits");
}

}  // namespace cove::image
