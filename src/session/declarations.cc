#include "session/declarations.h"

namespace cove::session {
namespace {

// The end of the entry that starts at `at`: the first newline outside quotes.
std::size_t find_end(std::string_view text, std::size_t at) {
  char quote = 0;
  bool escapes = false;  // inside "..." and $'...' a backslash protects the next character
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\\' && escapes)
        ++at;
      else if (c == quote)
        quote = 0;
    } else if (c == '\n') {
      return at;
    } else if (c == '\\') {
      ++at;
    } else if (c == '\'' || c == '"') {
      quote = c;
      escapes = c == '"' || (at > 0 && text[at - 1] == '$');
    }
  }
  return text.size();
}

bool is_word(std::string_view word, std::string_view entry) {
  return entry.size() > word.size() && entry.substr(0, word.size()) == word && entry[word.size()] == ' ';
}

// "declare -ax NAME=...", "export NAME=...", "alias NAME=...", "NAME=..."
std::string_view find_name(std::string_view entry) {
  for (const std::string_view word : {"declare", "export", "alias"}) {
    if (is_word(word, entry)) entry.remove_prefix(word.size() + 1);
  }
  while (!entry.empty() && entry[0] == '-') {
    const std::size_t space = entry.find(' ');
    if (space == std::string_view::npos) return {};
    entry.remove_prefix(space + 1);
  }
  return entry.substr(0, entry.find_first_of("=\n"));
}

}  // namespace

std::vector<Declaration> split_declarations(std::string_view text) {
  std::vector<Declaration> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = find_end(text, at);
    const std::string_view entry = text.substr(at, end - at);
    const std::string_view name = find_name(entry);
    if (!name.empty()) found.push_back({name, entry});
    at = end + 1;
  }
  return found;
}

}  // namespace cove::session
