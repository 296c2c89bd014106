#pragma once

// What a server wants to see before it answers: the header WWW-Authenticate.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cove::image {

struct Challenge {
  std::string scheme;                             // "basic", "bearer": in lower case
  std::map<std::string, std::string> parameters;  // names in lower case

  std::string parameter(const std::string& name) const;
};

// Those that can be read, in their order; several may stand in one header. Parsing ends at what is no challenge.
std::vector<Challenge> parse_challenges(std::string_view header);

}  // namespace cove::image
