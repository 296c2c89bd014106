#include "backend/engine/names.h"

namespace cove::engine {

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
