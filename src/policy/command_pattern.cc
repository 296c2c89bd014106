#include "policy/command_pattern.h"

#include <algorithm>
#include <utility>

#include "policy/glob_match.h"
#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

constexpr std::size_t kLongestPattern = 4096;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  bool within = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_blank(text[i])) {
      within = false;
      continue;
    }
    if (!std::exchange(within, true)) words.emplace_back();
    words.back() += text[i];
    if (text[i] == '\\' && i + 1 < text.size()) words.back() += text[++i];
  }
  return words;
}

bool ends_open(const std::string& word) {
  return word.ends_with('*') && !(word.size() > 1 && word[word.size() - 2] == '\\');
}

bool match_word(const std::string& pattern, const std::string& text) {
  return glob_match(pattern, text, LetterCase::ignored);
}

}  // namespace

Result<CommandPattern> CommandPattern::make(std::string_view text) {
  CommandPattern pattern;
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; };
  if (text.size() > kLongestPattern || std::any_of(text.begin(), text.end(), control))
    return fail(Errc::invalid, "a pattern for commands is one line of at most 4096 bytes");
  pattern.text_ = text;
  pattern.words_ = split(text);
  if (pattern.words_.empty())
    return fail(Errc::invalid, "a pattern for commands has at least one word, as in 'git push *'");
  return pattern;
}

bool CommandPattern::match_name(const SimpleCommand& command) const {
  if (command.words.empty()) return false;
  const bool known = !command.name.empty() && match_word(words_[0], command.name);
  return known || match_word(words_[0], command.words[0].text);
}

// As in glob_match(), only the last `*` has to be tried again.
bool CommandPattern::match(const SimpleCommand& command) const {
  if (command.words.empty()) return false;
  if (words_[0] != "*" && !match_name(command)) return false;
  const std::size_t none = static_cast<std::size_t>(-1);
  std::size_t p = words_[0] == "*" ? 0 : 1, w = p, star = none, star_word = 0;
  while (w < command.words.size()) {
    if (p < words_.size() && words_[p] == "*") {
      star = p++;
      star_word = w;
    } else if (p < words_.size() && match_word(words_[p], command.words[w].text)) {
      ++p;
      ++w;
      if (p == words_.size() && ends_open(words_.back())) return true;
    } else if (star != none) {
      p = star + 1;
      w = ++star_word;
    } else {
      return words_.size() == 1 && p == 1 && ends_open(words_[0]);
    }
  }
  return std::all_of(words_.begin() + static_cast<std::ptrdiff_t>(p), words_.end(),
                     [](const std::string& word) { return word == "*"; });
}

std::string exact_pattern(const SimpleCommand& command) {
  std::string text;
  for (const Word& word : command.words) {
    if (!text.empty()) text += ' ';
    for (const char c : word.text) {
      if (is_blank(c) || c == '*' || c == '?' || c == '[' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

}  // namespace cove::policy
