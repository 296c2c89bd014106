#pragma once

// Addresses that we fetch from, and which of them may be spoken to in the clear.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::image {

struct Url {
  std::string text;  // the whole
  std::string scheme, host, port;

  std::string origin() const { return scheme + "://" + host + ":" + port; }
  // Without the query, which may hold a signature: for messages.
  std::string shown() const { return text.substr(0, text.find('?')); }
  bool loopback() const;
};

// http and https only, no user name in it. `base` is what a relative one is relative to.
Result<Url> parse_url(const std::string& text, const std::string& base = "");

// Hosts that may be spoken to without TLS: this machine itself, and what is configured ("host" or "host:port").
struct PlainHosts {
  std::vector<std::string> listed;

  bool allows(const Url& url) const;
  // Whether https, or plain http that is allowed; otherwise denied, with the way out.
  Result<void> check(const Url& url) const;
};
// COVE_INSECURE_REGISTRIES (separated by commas) and the key `insecure_registries` of config.toml. In cli/.
Result<PlainHosts> read_plain_hosts();

std::string percent_encoded(std::string_view text);
// What others wrote, for a message of ours: short, and without what a terminal would obey.
std::string printable(std::string_view text);

}  // namespace cove::image
