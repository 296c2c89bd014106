#include <openssl/evp.h>

#include <array>
#include <new>

#include "image/digest.h"

namespace cove::image {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  Context() = default;
  ~Context() { EVP_MD_CTX_free(evp); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

// OpenSSL fails here for want of memory only.
Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (context_->evp == nullptr || EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  if (EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
}

std::string Sha256::digest() {
  std::array<unsigned char, 32> sum{};
  if (EVP_DigestFinal_ex(context_->evp, sum.data(), nullptr) != 1) throw std::bad_alloc();
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
