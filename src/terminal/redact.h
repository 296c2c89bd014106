#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cove::terminal {

// What must not be read in a command's output: masked wherever it stands.
struct Redaction {
  std::vector<std::string> values;  // exact ones: what the caller's environment and the sandbox hold in secret
  bool assignments = false;         // also NAME=VALUE where the name tells: for output that is a list of variables
};

// By shape: keys and tokens of the usual services, JSON web tokens, bearer headers, passwords in URLs, private keys.
// What is masked reads `***`, behind as much as tells the kind. Linear in the text.
std::string redact(std::string text, const Redaction& what);

// The values of this environment's secrets (policy/secrets.h) that are long enough not to be words, longest first.
std::vector<std::string> secret_values(const std::vector<std::pair<std::string, std::string>>& environment);

// Whether a command's output is likely to be a list of variables: it says env, printenv, export, .env, ...
bool lists_variables(std::string_view command);

}  // namespace cove::terminal
