#include <algorithm>
#include <iterator>
#include <utility>

#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

constexpr std::size_t kMost = 32;
constexpr std::size_t kLongestWord = 256;

struct Braces {
  std::size_t open = 0;
  std::vector<std::size_t> commas;
  std::size_t close = 0;
};

Word cut(const Word& word, std::size_t from, std::size_t to) {
  return {word.text.substr(from, to - from), word.kinds.substr(from, to - from)};
}

Word join(Word left, const Word& middle, const Word& right) {
  left.text += middle.text + right.text;
  left.kinds += middle.kinds + right.kinds;
  return left;
}

// A group of braces with a choice in it: the first one that is closed, so that one pass is enough.
bool find_braces(const Word& word, Braces& found) {
  std::vector<Braces> open;
  for (std::size_t i = 0; i < word.text.size(); ++i) {
    if (word.kinds[i] != '*') continue;
    const char c = word.text[i];
    if (c == '{') open.push_back({.open = i});
    if (open.empty()) continue;
    if (c == ',') open.back().commas.push_back(i);
    if (c != '}') continue;
    found = std::move(open.back());
    found.close = i;
    if (!found.commas.empty()) return true;
    open.pop_back();
  }
  return false;
}

std::vector<Word> expand_braces(const Word& word) {
  Braces braces;
  if (!find_braces(word, braces)) return {word};
  std::vector<Word> choices;
  std::size_t from = braces.open + 1;
  braces.commas.push_back(braces.close);
  const Word before = cut(word, 0, braces.open), after = cut(word, braces.close + 1, word.text.size());
  for (const std::size_t end : braces.commas) {
    if (choices.size() == kMost) break;
    choices.push_back(join(before, cut(word, from, end), after));
    from = end + 1;
  }
  return choices;
}

// `$NAME` or `${NAME}` at `at`, if the script gives values to it.
std::string_view variable_at(const Word& word, std::size_t at, std::size_t& end) {
  const std::string_view text = word.text;
  if ((word.kinds[at] != '$' && word.kinds[at] != '"') || text[at] != '$') return {};
  const bool braced = text.substr(at + 1, 1) == "{";
  const std::size_t from = at + (braced ? 2 : 1);
  end = from;
  while (end < text.size() && is_name_byte(text[end])) ++end;
  const std::string_view name = text.substr(from, end - from);
  if (!braced) return name;
  return end < text.size() && text[end++] == '}' ? name : std::string_view();
}

// The latest values of a variable. One that is made of variables itself could be put in for ever.
std::vector<Word> values_of(std::string_view name, const Script& script) {
  constexpr std::size_t kRecent = 64, kChoices = 4;
  std::vector<Word> values;
  const std::size_t oldest = script.values.size() - std::min(script.values.size(), kRecent);
  for (std::size_t i = script.values.size(); i > oldest && values.size() < kChoices; --i) {
    const KnownValue& known = script.values[i - 1];
    const auto same = [&](const Word& each) { return each.text == known.value.text; };
    const bool useful = known.name == name && known.value.kinds.find_first_of("$\"") == std::string::npos;
    if (useful && std::none_of(values.begin(), values.end(), same)) values.push_back(known.value);
  }
  return values;
}

std::vector<Word> expand_variable(const Word& word, const Script& script) {
  for (std::size_t at = 0; at < word.text.size(); ++at) {
    std::size_t end = at;
    const std::string_view name = variable_at(word, at, end);
    if (name.empty()) continue;
    std::vector<Word> choices;
    for (const Word& value : values_of(name, script))
      choices.push_back(join(cut(word, 0, at), value, cut(word, end, word.text.size())));
    if (!choices.empty()) return choices;
  }
  return {word};
}

// Expands until nothing is left to expand or there are too many; what is then left stays as it is.
template <class Expand>
void expand_all(std::vector<Word>& words, Expand expand) {
  std::vector<Word> finished;
  std::reverse(words.begin(), words.end());
  for (unsigned steps = 0; !words.empty() && steps < 4 * kMost; ++steps) {
    const Word word = std::move(words.back());
    words.pop_back();
    std::vector<Word> choices = expand(word);
    if (choices.size() == 1 && choices[0].text == word.text && choices[0].kinds == word.kinds) {
      finished.push_back(word);
    } else {
      std::move(choices.rbegin(), choices.rend(), std::back_inserter(words));
    }
    if (words.size() + finished.size() >= kMost) break;
  }
  std::move(words.rbegin(), words.rend(), std::back_inserter(finished));
  if (finished.size() > kMost) finished.resize(kMost);
  words = std::move(finished);
}

}  // namespace

std::vector<Word> alternatives(const Word& word, const Script& script) {
  std::vector<Word> words{word};
  if (word.literal() || word.text.size() > kLongestWord) return words;
  expand_all(words, expand_braces);
  if (!script.values.empty()) expand_all(words, [&](const Word& each) { return expand_variable(each, script); });
  return words;
}

}  // namespace cove::policy
