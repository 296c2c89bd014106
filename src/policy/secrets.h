#pragma once

#include <string_view>

namespace cove::policy {

// Names of provider secrets: API keys, tokens and settings of model providers, clouds, chat services and CI. Any case.
// They do not reach a sandbox unless they are named one by one. The general AWS chain and SSH_AUTH_SOCK are not here:
// people's own tools on this machine need them.
bool is_provider_secret(std::string_view name);

// What a pattern never forwards: the above, the AWS chain, agents' sockets, and whatever calls itself a key, token,
// secret, password or credential.
bool looks_secret(std::string_view name);

}  // namespace cove::policy
