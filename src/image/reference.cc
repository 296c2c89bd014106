#include "image/reference.h"

#include <algorithm>
#include <array>
#include <utility>

#include "image/digest.h"

namespace cove::image {
namespace {

constexpr std::size_t kMaxName = 255, kMaxTag = 128;
constexpr std::string_view kDockerHub = "docker.io";

// By hand: the locale must not decide what a letter is.
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }
bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }

Failure wrong(std::string_view text, std::string_view why) {
  std::string shown(text.substr(0, kMaxName));
  for (char& c : shown) c = c < ' ' || c > '~' ? '?' : c;
  return fail(Errc::invalid, "'" + shown + "' is no name of an image: " + std::string(why));
}

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), is_digit)) return false;
  const int number = std::stoi(std::string(text));
  return number > 0 && number < 65536;
}

bool is_host_label(std::string_view label) {
  return !label.empty() && label.size() < 64 && is_alphanumeric(label.front()) && is_alphanumeric(label.back()) &&
         std::all_of(label.begin(), label.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
}

bool is_host(std::string_view host) {
  if (host.starts_with('[')) {
    const std::string_view inner = host.ends_with(']') ? host.substr(1, host.size() - 2) : "";
    return inner.size() > 1 && inner.size() < 46 && inner.find(':') != inner.npos &&
           std::all_of(
               inner.begin(), inner.end(),
               [](char c) { return is_hex(c) || (c >= 'A' && c <= 'F') || c == ':' || c == '.'; });
  }
  for (;;) {
    const std::size_t dot = host.find('.');
    if (!is_host_label(host.substr(0, dot))) return false;
    if (dot == host.npos) return true;
    host.remove_prefix(dot + 1);
  }
}

bool is_registry(std::string_view text) {
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
  return is_host(text.substr(0, colon)) && (colon == text.npos || is_port(text.substr(colon + 1)));
}

// Lower-case letters and digits, joined by '.', '_', '__' or any number of '-'.
bool is_path_component(std::string_view text) {
  while (!text.empty()) {
    const auto word = std::find_if_not(text.begin(), text.end(), is_lower_or_digit);
    if (word == text.begin()) return false;
    text.remove_prefix(static_cast<std::size_t>(word - text.begin()));
    if (text.empty()) return true;
    const std::size_t joint = std::min(text.find_first_not_of(text.substr(0, 1)), text.size());
    const bool fits = (text[0] == '.' && joint == 1) || (text[0] == '_' && joint <= 2) || text[0] == '-';
    if (!fits) return false;
    text.remove_prefix(joint);
  }
  return false;
}

bool is_repository(std::string_view text) {
  for (;;) {
    const std::size_t slash = text.find('/');
    if (!is_path_component(text.substr(0, slash))) return false;
    if (slash == text.npos) return true;
    text.remove_prefix(slash + 1);
  }
}

bool is_tag(std::string_view text) {
  const auto word = [](char c) { return is_alphanumeric(c) || c == '_'; };
  return !text.empty() && text.size() <= kMaxTag && word(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return word(c) || c == '.' || c == '-'; });
}

// The first part is a host if a repository could not be called so, as docker decides it.
bool looks_like_registry(std::string_view first) {
  return first.find_first_of(".:[") != first.npos || first == "localhost" ||
         std::any_of(first.begin(), first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

void split_registry(std::string_view name, Reference& into) {
  const std::size_t slash = name.find('/');
  if (slash == name.npos || !looks_like_registry(name.substr(0, slash))) {
    into.registry = kDockerHub;
    into.repository = name;
  } else {
    into.registry = name.substr(0, slash);
    into.repository = name.substr(slash + 1);
  }
  for (char& c : into.registry) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (into.registry == "index.docker.io" || into.registry == "registry-1.docker.io") into.registry = kDockerHub;
  if (into.registry == kDockerHub && into.repository.find('/') == std::string::npos) {
    into.repository.insert(0, "library/");
  }
}

constexpr std::array<std::pair<std::string_view, Transport>, 3> kTransports{
    {{"docker-daemon:", Transport::docker_daemon},
     {"containers-storage:", Transport::containers_storage},
     {"docker://", Transport::registry}}};

}  // namespace

std::string Reference::name() const {
  return registry + "/" + repository + (tag.empty() ? "" : ":" + tag) + (digest.empty() ? "" : "@" + digest);
}

Result<Reference> parse_reference(std::string_view text) {
  const std::string_view whole = text;
  Reference reference;
  for (const auto& [prefix, transport] : kTransports) {
    if (!text.starts_with(prefix)) continue;
    reference.transport = transport;
    text.remove_prefix(prefix.size());
    break;
  }
  reference.asked = text;
  if (text.empty()) return wrong(whole, "it is empty");
  if (const std::size_t at = text.find('@'); at != text.npos) {
    reference.digest = text.substr(at + 1);
    text = text.substr(0, at);
    if (!is_digest(reference.digest)) return wrong(whole, "after '@' stands sha256: and 64 hexadecimal digits");
  }
  const std::size_t slash = text.rfind('/');
  const std::size_t colon = text.find(':', slash == text.npos ? 0 : slash);
  if (colon != text.npos) {
    reference.tag = text.substr(colon + 1);
    text = text.substr(0, colon);
    if (!is_tag(reference.tag)) return wrong(whole, "a tag has up to 128 letters, digits, '_', '.' and '-'");
  } else if (reference.digest.empty()) {
    reference.tag = "latest";
  }
  if (text.size() > kMaxName) return wrong(whole, "it is longer than 255 characters");
  split_registry(text, reference);
  if (!is_registry(reference.registry)) return wrong(whole, "'" + reference.registry + "' is no host or host:port");
  if (!is_repository(reference.repository)) {
    return wrong(whole, "its parts are lower-case letters and digits, joined by '.', '_', '__' or '-'");
  }
  return reference;
}

}  // namespace cove::image
