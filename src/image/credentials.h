#pragma once

// Who we are to a registry, as docker and podman keep it on this machine:
//   $DOCKER_CONFIG/config.json, else ~/.docker/config.json     credHelpers, auths, credsStore
//   $XDG_RUNTIME_DIR/containers/auth.json                      auths, credHelpers
// Helpers are the programs docker-credential-NAME; they are told the registry on stdin. Passwords stand in no argument,
// log or message of ours.

#include <optional>
#include <stop_token>
#include <string>

#include "base/error.h"

namespace cove::image {

struct Credentials {
  std::string user, password;
  std::string identity_token;  // instead of both: exchanged for an access token
  std::string from;            // where they stand, for messages
};

// None is no error; a file that is there and cannot be understood is one, and so is a helper that fails.
Result<std::optional<Credentials>> find_credentials(const std::string& registry, const std::string& repository);

// For tests: from the text of one such file. A helper that it names is run.
Result<std::optional<Credentials>> credentials_in(const std::string& text, const std::string& path,
                                                  const std::string& registry, const std::string& repository);

}  // namespace cove::image
