#pragma once

// What msb is told. Its options have changed from version to version (--no-network has become --no-net, and the old one
// is an error now), so the program is asked what it takes instead of being believed by its number.

#include <string>
#include <vector>

#include "base/error.h"
#include "spec/spec.h"

namespace cove::microsandbox {

inline constexpr const char* kGuestInside = "/cove/cove-guest";

// What `msb create --help` and `msb exec --help` name.
struct Takes {
  std::string no_net;   // the option that takes the network away; "": there is none
  bool stream = false;  // exec --stream: bytes as they are
};
Takes read_help(const std::string& create_help, const std::string& exec_help);

// Refuses, with the option's name, what msb cannot honour.
Result<void> check(const SandboxSpec& spec, const Takes& takes);

// `name` is msb's; `guest` a directory that holds the guest's program.
std::vector<std::string> create_words(const SandboxSpec& spec, const Takes& takes, const std::string& name,
                                      const std::string& guest);
// The guest, speaking on stdin and stdout.
std::vector<std::string> exec_words(const Takes& takes, const std::string& name);

}  // namespace cove::microsandbox
