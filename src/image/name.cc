#include "image/name.h"

#include <algorithm>

#include "image/digest.h"
#include "image/image.h"

namespace cove::image {
namespace {

constexpr std::size_t kMostName = 200;  // escaped, it still is a file's name

bool is_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_word(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

Failure bad(std::string_view name, const std::string& why) {
  return fail(Errc::invalid, "'" + std::string(name.substr(0, 300)) + "' cannot name an image: " + why +
                                 "; [DOMAIN/]PATH[:TAG][@DIGEST]");
}

// Lower-case words with '.', '_' or '-' between them.
bool is_component(std::string_view text) {
  if (text.empty() || !is_lower(text.front()) || !is_lower(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_path(std::string_view path) {
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (!is_component(path.substr(0, end))) return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

bool is_tag(std::string_view tag) {
  if (tag.empty() || tag.size() > 128 || !is_word(tag.front())) return false;
  return std::all_of(tag.begin(), tag.end(), [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

// A host with or without a port; [::1] too.
bool is_domain(std::string_view domain) {
  const std::size_t colon = domain.rfind(':');
  if (colon != std::string_view::npos && !domain.ends_with(']')) {
    const std::string_view port = domain.substr(colon + 1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit)) return false;
    domain = domain.substr(0, colon);
  }
  if (domain.empty() || domain.front() == '.' || domain.front() == '-') return false;
  const bool address = domain.front() == '[' && domain.back() == ']';
  return std::all_of(domain.begin(), domain.end(), [&](char c) {
    return is_word(c) || c == '.' || c == '-' || (address && (c == ':' || c == '[' || c == ']'));
  });
}

// A first component that cannot be one of a path is a domain.
bool begins_with_domain(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  if (first.size() == name.size()) return false;
  return first == "localhost" || first.find_first_of(".:[") != std::string_view::npos;
}

}  // namespace

Result<NameParts> split_name(std::string_view name) {
  NameParts parts;
  std::string_view rest = name;
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    parts.digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_digest(parts.digest)) return bad(name, "behind '@' stands no sha256 digest");
  }
  if (begins_with_domain(rest)) {
    parts.domain = rest.substr(0, rest.find('/'));
    rest.remove_prefix(parts.domain.size() + 1);
    if (!is_domain(parts.domain)) return bad(name, "its domain has characters that no host has");
  }
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    parts.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!is_tag(parts.tag)) return bad(name, "its tag is not of letters, digits, '_', '.', '-', or too long");
  }
  if (parts.domain.empty() || parts.domain == "index.docker.io") parts.domain = "docker.io";
  parts.path = rest;
  if (!is_path(parts.path)) return bad(name, "its path is not of a-z, 0-9 with '.', '_', '-', '/' between them");
  if (parts.domain == "docker.io" && parts.path.find('/') == std::string::npos) parts.path = "library/" + parts.path;
  if (parts.tag.empty() && parts.digest.empty()) parts.tag = "latest";
  return parts;
}

Result<std::string> normal_name(std::string_view name) {
  COVE_TRY(const NameParts parts, split_name(name));
  std::string normal = parts.domain + "/" + parts.path;
  if (!parts.tag.empty()) normal += ":" + parts.tag;
  if (!parts.digest.empty()) normal += "@" + parts.digest;
  if (escape_name(normal).size() > kMostName + kSha256.size() || normal.size() > kMostName)
    return bad(name, "it is too long");
  return normal;
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
    if (is_word(c) || c == '.' || c == '-')
      escaped += c;
    else
      ((escaped += '%') += kHex[byte >> 4]) += kHex[byte & 15];
  }
  return escaped;
}

}  // namespace cove::image
