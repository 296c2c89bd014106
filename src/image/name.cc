#include "image/name.h"

#include "image/digest.h"
#include "image/image.h"
#include "image/reference.h"

namespace cove::image {
namespace {

constexpr std::size_t kMostName = 200;  // escaped, it still is a file's name

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-';
}

}  // namespace

Result<std::string> normal_name(std::string_view name) {
  COVE_TRY(const Reference reference, parse_reference(name));
  std::string normal = reference.name();
  if (normal.size() <= kMostName && escape_name(normal).size() <= kMostName + kSha256.size()) return normal;
  return fail(Errc::invalid, "'" + reference.repository.substr(0, 60) + "...' cannot name an image: it is too long");
}

std::string short_name(std::string_view normal) {
  std::string_view shorter = normal;
  for (const std::string_view front : {"docker.io/library/", "docker.io/"}) {
    if (!shorter.starts_with(front)) continue;
    shorter.remove_prefix(front.size());
    break;
  }
  constexpr std::string_view kLatest = ":latest";
  if (shorter.ends_with(kLatest)) shorter.remove_suffix(kLatest.size());
  const auto again = normal_name(shorter);  // "docker.io/localhost/x" has no shorter form
  return std::string(again && *again == normal ? shorter : normal);
}

std::string escape_name(std::string_view normal) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : normal) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c))
      escaped += c;
    else
      ((escaped += '%') += kHex[byte >> 4]) += kHex[byte & 15];
  }
  return escaped;
}

}  // namespace cove::image
