#include "image/base64.h"

#include <openssl/evp.h>

#include <algorithm>

namespace cove::image {

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// EVP_DecodeBlock counts the padding as zero bytes.
std::optional<std::string> from_base64(std::string_view text, std::size_t most) {
  if (text.size() % 4 != 0 || text.size() > most) return std::nullopt;
  std::string bytes(text.size() / 4 * 3 + 1, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const auto padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(std::max(size - padding, 0)));
  return bytes;
}

}  // namespace cove::image
