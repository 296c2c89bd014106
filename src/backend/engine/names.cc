#include "backend/engine/names.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace cove::engine {

std::string hash_text(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

std::string home_of(const std::string& directory) {
  const std::size_t name = directory.rfind('/');
  return directory.substr(0, directory.rfind('/', name - 1));
}

std::string container_prefix(const std::string& home) { return "cove-" + hash_text(home).substr(0, 8) + "-"; }

std::string container_name(const std::string& home, const std::string& sandbox) {
  return container_prefix(home) + sandbox;
}

std::string layer_image(const std::string& id) { return "localhost/cove-layer:" + id; }

}  // namespace cove::engine
