#include "policy/call.h"

#include <algorithm>

namespace cove::policy {

Call::Call(const SimpleCommand& of) : command(of) {
  bool only_operands = false;
  for (std::size_t i = 1; i < of.words.size(); ++i) {
    const std::string& text = of.words[i].text;
    if (only_operands || text.size() < 2 || text[0] != '-') {
      operands.push_back(&of.words[i]);
    } else if (text == "--") {
      only_operands = true;
    } else {
      options.emplace_back(text);
    }
  }
}

bool Call::has(char letter, std::string_view word) const {
  constexpr std::size_t kShortest = 5;  // "--rec"
  return std::any_of(options.begin(), options.end(), [&](std::string_view option) {
    if (!option.starts_with("--")) return letter != '\0' && option.find(letter, 1) != std::string_view::npos;
    const std::string_view name = option.substr(0, option.find('='));
    return !word.empty() && word.starts_with(name) && name.size() >= std::min(kShortest, word.size());
  });
}

bool Call::any_operand(std::string_view text) const {
  return std::any_of(operands.begin(), operands.end(), [&](const Word* word) { return word->text == text; });
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result = "'";
  std::size_t end = std::min(text.size(), kLongest);
  // Not in the middle of a character.
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  for (const char c : text.substr(0, end)) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  return result + (end < text.size() ? "...'" : "'");
}

std::string shown(const SimpleCommand& command) {
  std::string text;
  for (const Word& word : command.words) {
    if (text.size() > 100) break;
    text += (text.empty() ? "" : " ") + word.text.substr(0, 100);
  }
  return shown(text);
}

bool is_any(std::string_view word, std::initializer_list<std::string_view> of) {
  return std::find(of.begin(), of.end(), word) != of.end();
}

}  // namespace cove::policy
