#pragma once

// Content addresses: "sha256:" and 64 lower-case hex digits. Other algorithms are refused.
// The text checks are in cove_store, the hasher (OpenSSL) in cove_image.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cove::image {

inline constexpr std::string_view kSha256 = "sha256:";

bool is_hex64(std::string_view text);
bool is_digest(std::string_view text);
// The 64 digits, fit to be a file's name; anything else is refused (invalid).
Result<std::string> hex_of(std::string_view digest);

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view bytes) { update(std::as_bytes(std::span(bytes))); }
  std::string digest();  // "sha256:..."; once

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_of(std::string_view bytes);

}  // namespace cove::image
