#include "image/cli/commands.h"
#include "image/digest.h"
#include "record/snapshots.h"

namespace cove::image {
namespace {

bool begins(const std::string& digest, std::string_view hex) {
  return digest.starts_with(kSha256) && std::string_view(digest).substr(kSha256.size()).starts_with(hex);
}

// By its name, or by the beginning of its digest.
bool means(const std::string& written, const Image& image) {
  if (written.empty() || written == "host" || written.starts_with('/')) return false;
  const auto normal = normal_name(written);
  if (normal && *normal == image.name) return true;
  std::string_view hex = written;
  if (hex.starts_with(kSha256)) hex.remove_prefix(kSha256.size());
  return hex.size() >= 12 && (begins(image.digest, hex) || begins(image.config_digest, hex));
}

}  // namespace

Result<Users> find_users_of_images() { return record::images_in_use(); }

std::string users_of(const Image& image, const Users& users) {
  std::string text;
  for (const auto& [written, who] : users) {
    if (means(written, image) && text.size() < 200) text += (text.empty() ? "" : ", ") + who;
  }
  return text;
}

}  // namespace cove::image
