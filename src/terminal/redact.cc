#include "terminal/redact.h"

#include <algorithm>
#include <array>

#include "policy/env.h"
#include "policy/secrets.h"

namespace cove::terminal {
namespace {

constexpr std::string_view kMask = "***";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-'; }
bool is_credential(char c) { return is_word(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '='; }

struct Shape {
  std::string_view prefix;
  std::size_t least;  // characters behind the prefix
};
// The first that fits counts. Words of a language that happen to begin so have no digits.
constexpr std::array<Shape, 49> kShapes{
    {{"sk-", 20},     {"sk_live_", 10}, {"sk_test_", 10}, {"rk_live_", 10}, {"pk_live_", 10}, {"ghp_", 20},
     {"gho_", 20},    {"ghu_", 20},     {"ghs_", 20},     {"ghr_", 20},     {"glpat-", 16},   {"github_pat_", 20},
     {"xoxb-", 10},   {"xoxp-", 10},    {"xoxa-", 10},    {"xoxs-", 10},    {"xoxr-", 10},    {"xapp-", 10},
     {"AKIA", 16},    {"ASIA", 16},     {"AIza", 30},     {"hf_", 20},      {"r8_", 20},      {"npm_", 30},
     {"pypi-", 40},   {"dop_v1_", 40},  {"doo_v1_", 40},  {"gsk_", 30},     {"xai-", 30},     {"pplx-", 30},
     {"tvly-", 16},   {"fc-", 30},      {"e2b_", 20},     {"dtn_", 20},     {"lin_api_", 20}, {"ntn_", 30},
     {"secret_", 30}, {"shpat_", 20},   {"shpss_", 20},   {"whsec_", 20},   {"nvapi-", 20},   {"sntrys_", 20},
     {"glsa_", 20},   {"figd_", 20},    {"ATATT", 40},    {"vercel_", 20},  {"ak-", 20},      {"as-", 20},
     {"dapi", 32}}};

const Shape* shape_of(std::string_view word) {
  for (const Shape& shape : kShapes) {
    if (!word.starts_with(shape.prefix) || word.size() < shape.prefix.size() + shape.least) continue;
    const std::string_view rest = word.substr(shape.prefix.size());
    if (std::any_of(rest.begin(), rest.end(), is_digit)) return &shape;
  }
  return nullptr;
}

std::size_t end_of(std::string_view text, std::size_t at, bool (*belongs)(char)) {
  while (at < text.size() && belongs(text[at])) ++at;
  return at;
}

// header.payload.signature, each base64url of an object: they begin alike.
std::size_t web_token_end(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("eyJ")) return at;
  const std::size_t header = end_of(text, at, is_word);
  if (header - at < 10 || !text.substr(header).starts_with(".eyJ")) return at;
  const std::size_t payload = end_of(text, header + 1, is_word);
  if (payload >= text.size() || text[payload] != '.') return payload;
  return end_of(text, payload + 1, is_word);
}

std::string mask_words(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      out += text[at++];
      continue;
    }
    if (const std::size_t end = web_token_end(text, at); end > at) {
      out += "eyJ***";
      at = end;
      continue;
    }
    const std::size_t end = end_of(text, at, is_word);
    const std::string_view word = text.substr(at, end - at);
    const Shape* shape = shape_of(word);
    out += shape != nullptr ? shape->prefix : word;
    if (shape != nullptr) out += kMask;
    at = end;
  }
  return out;
}

bool same_letters(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
         });
}

// "Authorization: Bearer X": what a header shows, also quoted in a command line.
std::string mask_bearers(std::string_view text) {
  constexpr std::string_view kWord = "bearer ";
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = 0; at + kWord.size() < text.size(); ++at) {
    if ((text[at] != 'b' && text[at] != 'B') || !same_letters(text.substr(at), kWord)) continue;
    const std::size_t begin = at + kWord.size(), end = end_of(text, begin, is_credential);
    if (end - begin < 12) continue;
    out += text.substr(from, begin - from);
    out += kMask;
    from = at = end;
  }
  return out.append(text.substr(from));
}

// scheme://user:PASSWORD@host
std::string mask_passwords_in_urls(std::string_view text) {
  constexpr std::size_t kLongest = 512;
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    const std::string_view rest = text.substr(at + 3, kLongest);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?# \t\r\n\"'`<>"));
    const std::size_t sign = authority.rfind('@'), colon = authority.find(':');
    if (sign == std::string_view::npos || colon > sign || sign == colon + 1) continue;
    const std::size_t begin = at + 3 + colon + 1;
    out += text.substr(from, begin - from);
    out += kMask;
    from = at + 3 + sign;
  }
  return out.append(text.substr(from));
}

// One that was cut (an end without a beginning, or the other way round) is masked up to where the text is cut.
std::string mask_private_keys(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ", kKind = "PRIVATE KEY-----";
  const auto marker = [&](std::string_view mark, std::size_t from) {
    for (std::size_t at = text.find(mark, from); at != std::string_view::npos; at = text.find(mark, at + 1)) {
      const std::string_view near = text.substr(at, 64);
      const std::size_t kind = near.find(kKind);
      if (kind != std::string_view::npos && near.find('\n') > kind) return std::pair(at, at + kind + kKind.size());
    }
    return std::pair(text.size(), text.size());
  };
  // Each marker is looked for once, however many there are of the other kind.
  auto begin = marker(kBegin, 0), end = marker(kEnd, 0);
  std::string out;
  std::size_t from = 0;
  while (begin.first < text.size() || end.first < text.size()) {
    if (begin.first < end.first) {
      out += text.substr(from, begin.second - from);
      from = begin.second;
    }
    out += kMask;
    out += text.substr(end.first, end.second - end.first);
    from = end.second;
    if (begin.first < from) begin = marker(kBegin, from);
    if (end.first < text.size()) end = marker(kEnd, from);
  }
  return out.append(text.substr(from));
}

std::string mask_values(std::string text, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    std::size_t at = text.find(value);
    if (at == std::string::npos) continue;
    std::string out;
    std::size_t from = 0;
    for (; at != std::string::npos; at = text.find(value, from)) {
      out.append(text, from, at - from).append(kMask);
      from = at + value.size();
    }
    text = std::move(out.append(text, from));
  }
  return text;
}

std::string_view without_export(std::string_view line) {
  for (const std::string_view word : {"export ", "declare -x ", "set -x ", "+ "}) {
    if (line.starts_with(word)) line.remove_prefix(word.size());
  }
  return line;
}

std::string mask_assignments(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find_first_of(std::string_view("\n\0", 2)), text.size());
    const std::string_view line = text.substr(0, length), assignment = without_export(line);
    const std::size_t equals = assignment.find('=');
    const std::string_view name = assignment.substr(0, std::min(equals, assignment.size()));
    const bool secret = equals != std::string_view::npos && equals + 1 < assignment.size() &&
                        policy::is_variable_name(name) && policy::looks_secret(name);
    out += secret ? line.substr(0, line.size() - assignment.size() + equals + 1) : line;
    if (secret) out += kMask;
    out += text.substr(length, length < text.size() ? 1 : 0);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string redact(std::string text, const Redaction& what) {
  if (text.empty()) return text;
  text = mask_values(std::move(text), what.values);
  if (text.find("PRIVATE KEY-----") != std::string::npos) text = mask_private_keys(text);
  if (what.assignments) text = mask_assignments(text);
  if (text.find("://") != std::string::npos) text = mask_passwords_in_urls(text);
  return mask_bearers(mask_words(text));
}

std::vector<std::string> secret_values(const std::vector<std::pair<std::string, std::string>>& environment) {
  constexpr std::size_t kLeast = 8;
  std::vector<std::string> values;
  for (const auto& [name, value] : environment) {
    const bool path = value.starts_with('/') || value.find("://") != std::string::npos;
    if (value.size() >= kLeast && !path && policy::looks_secret(name)) values.push_back(value);
  }
  std::sort(values.begin(), values.end(),
            [](const auto& a, const auto& b) { return a.size() != b.size() ? a.size() > b.size() : a < b; });
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

bool lists_variables(std::string_view command) {
  constexpr std::array<std::string_view, 7> kWords{"env", "printenv", "export", "declare", "typeset", "set", "environ"};
  for (std::size_t at = 0; at < command.size();) {
    if (!is_word(command[at])) {
      ++at;
      continue;
    }
    const std::size_t end = end_of(command, at, is_word);
    if (std::find(kWords.begin(), kWords.end(), command.substr(at, end - at)) != kWords.end()) return true;
    at = end;
  }
  return false;
}

}  // namespace cove::terminal
