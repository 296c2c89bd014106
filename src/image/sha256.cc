// The functions of SHA-256 itself: behind EVP stand all the algorithms of OpenSSL, which would be linked with it.
#include <openssl/sha.h>

#include <array>

#include "image/digest.h"

namespace cove::image {

struct Sha256::Context {
  SHA256_CTX sha{};
};

// None of these can fail.
Sha256::Sha256() : context_(std::make_unique<Context>()) { SHA256_Init(&context_->sha); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) { SHA256_Update(&context_->sha, bytes.data(), bytes.size()); }

std::string Sha256::digest() {
  std::array<unsigned char, 32> sum{};
  SHA256_Final(sum.data(), &context_->sha);
  constexpr char kHex[] = "0123456789abcdef";
  std::string text(kSha256);
  for (const unsigned char byte : sum) (text += kHex[byte >> 4]) += kHex[byte & 15];
  return text;
}

std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.digest();
}

}  // namespace cove::image
