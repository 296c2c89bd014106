#include "changes/glob.h"

#include <algorithm>

namespace cove::changes {

Result<Globs> Globs::make(const std::vector<std::string>& patterns) {
  Globs globs;
  for (const std::string& pattern : patterns) {
    COVE_TRY(auto glob, parse(pattern));
    globs.globs_.push_back(std::move(glob));
  }
  return globs;
}

Result<Globs::Token> Globs::parse_set(const std::string& pattern, std::size_t& at) {
  Token token{.kind = Token::Kind::set, .members = std::vector<bool>(256)};
  std::size_t i = at + 1;
  const bool inverted = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (inverted) ++i;
  for (const std::size_t first = i; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i += 2]);
    }
    for (unsigned value = low; value <= high; ++value) token.members[value] = true;
  }
  if (i >= pattern.size()) return fail(Errc::invalid, "the pattern '" + pattern + "' has a '[' without its ']'");
  if (inverted) token.members.flip();
  token.members['/'] = false;
  at = i;
  return token;
}

Result<Globs::Glob> Globs::parse(const std::string& pattern) {
  std::string text = pattern;
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  Glob glob{.whole_path = text.find('/') != std::string::npos};
  if (text.starts_with('/')) text.erase(0, 1);
  if (text.empty() || text.size() > 4096) return fail(Errc::invalid, "a pattern for paths has 1 to 4096 bytes");
  for (std::size_t i = 0; i < text.size(); ++i) {
    Token token{.value = static_cast<unsigned char>(text[i])};
    if (text.compare(i, 3, "**/") == 0) {
      // "a/**/b" is "a/b" too: the slash belongs to what may be left out.
      token.kind = Token::Kind::all;
      i += 2;
    } else if (text[i] == '*') {
      token.kind = text.compare(i, 2, "**") == 0 ? Token::Kind::all : Token::Kind::star;
      if (token.kind == Token::Kind::all) ++i;
    } else if (text[i] == '?') {
      token.kind = Token::Kind::any;
    } else if (text[i] == '[') {
      COVE_TRY(token, parse_set(text, i));
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      token.value = static_cast<unsigned char>(text[++i]);
    }
    glob.tokens.push_back(std::move(token));
  }
  return glob;
}

// All positions in the pattern at once, so that no name can make this slow.
bool Globs::match_one(const Glob& glob, std::string_view text) {
  const std::size_t end = glob.tokens.size();
  std::vector<bool> now(end + 1), next(end + 1);
  const auto skip_stars = [&](std::vector<bool>& states) {
    for (std::size_t i = 0; i < end; ++i) {
      if (states[i] && glob.tokens[i].kind >= Token::Kind::star) states[i + 1] = true;
    }
  };
  now[0] = true;
  skip_stars(now);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    std::fill(next.begin(), next.end(), false);
    for (std::size_t i = 0; i < end; ++i) {
      if (!now[i]) continue;
      const Token& token = glob.tokens[i];
      switch (token.kind) {
        case Token::Kind::byte: next[i + 1] = next[i + 1] || token.value == byte; break;
        case Token::Kind::any: next[i + 1] = next[i + 1] || byte != '/'; break;
        case Token::Kind::set: next[i + 1] = next[i + 1] || token.members[byte]; break;
        case Token::Kind::star: next[i] = next[i] || byte != '/'; break;
        case Token::Kind::all: next[i] = true; break;
      }
    }
    skip_stars(next);
    now.swap(next);
  }
  return now[end];
}

bool Globs::match_here(std::string_view path) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::any_of(globs_.begin(), globs_.end(),
                     [&](const Glob& glob) { return match_one(glob, glob.whole_path ? path : name); });
}

bool Globs::match(std::string_view path) const {
  if (globs_.empty() || match_here(path)) return true;
  for (std::size_t i = path.rfind('/'); i != std::string_view::npos && i > 0; i = path.rfind('/', i - 1)) {
    if (match_here(path.substr(0, i))) return true;
  }
  return false;
}

}  // namespace cove::changes
