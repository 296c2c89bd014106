#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/engine/program.h"
#include "base/error.h"

namespace cove::engine {

// What words in an engine's message mean, and the way out.
struct Meaning {
  std::vector<std::string_view> words;  // lower case; one of them in the message is enough
  Errc code;
  std::string_view says;
};

// The first row that fits. nullptr: none does.
const Meaning* find_meaning(const std::vector<Meaning>& meanings, const Said& said);

// A line as it may stand in a sentence: without control characters, not too long.
std::string quotable(std::string line);

}  // namespace cove::engine
