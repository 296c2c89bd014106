#include "backend/engine/meaning.h"

#include <algorithm>

#include "base/ascii.h"

namespace cove::engine {

const Meaning* find_meaning(const std::vector<Meaning>& meanings, const Said& said) {
  const std::string text = lower(said.err + "\n" + said.out.substr(0, 4096));
  const auto found = std::find_if(meanings.begin(), meanings.end(), [&](const Meaning& meaning) {
    return std::any_of(meaning.words.begin(), meaning.words.end(),
                       [&](auto word) { return text.find(word) != std::string::npos; });
  });
  return found == meanings.end() ? nullptr : &*found;
}

std::string quotable(std::string line) {
  for (char& c : line) c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return line.substr(0, 400);
}

}  // namespace cove::engine
