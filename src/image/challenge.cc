#include "image/challenge.h"

#include <algorithm>

#include "base/ascii.h"

namespace cove::image {
namespace {

constexpr std::size_t kMostChallenges = 16, kMostParameters = 32;

bool is_token_char(char c) {
  constexpr std::string_view kOther = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kOther.find(c) != kOther.npos;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  bool at_end() const { return left_.empty(); }
  void skip(std::string_view characters) {
    left_.remove_prefix(std::min(left_.find_first_not_of(characters), left_.size()));
  }
  bool take(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  std::string token() {
    const auto end = std::find_if_not(left_.begin(), left_.end(), is_token_char);
    std::string word(left_.begin(), end);
    left_.remove_prefix(word.size());
    return word;
  }
  std::string value() { return take('"') ? quoted() : token(); }

 private:
  std::string quoted() {
    std::string text;
    while (!left_.empty()) {
      char c = left_.front();
      left_.remove_prefix(1);
      if (c == '"') break;
      if (c == '\\' && !left_.empty()) {
        c = left_.front();
        left_.remove_prefix(1);
      }
      text += c;
    }
    return text;
  }

  std::string_view left_;
};

}  // namespace

std::string Challenge::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

// A word with '=' behind it belongs to the challenge before; one without begins the next.
std::vector<Challenge> parse_challenges(std::string_view header) {
  std::vector<Challenge> all;
  for (Reader reader(header); all.size() <= kMostChallenges;) {
    reader.skip(" \t,");
    const std::string word = lower(reader.token());
    if (word.empty()) break;
    reader.skip(" \t");
    if (!reader.take('=')) {
      all.push_back({word, {}});
      continue;
    }
    reader.skip(" \t");
    std::string value = reader.value();
    if (all.empty() || all.back().parameters.size() >= kMostParameters) break;
    all.back().parameters.emplace(word, std::move(value));
  }
  return all;
}

}  // namespace cove::image
