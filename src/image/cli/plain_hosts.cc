#include <toml++/toml.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "image/url.h"
#include "spec/settings.h"

namespace cove::image {
namespace {

void add_listed(std::string_view text, std::vector<std::string>& into) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find_first_of(", "), text.size());
    if (comma > 0) into.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

// The CLI has checked the rest of the file; here only this key counts.
Result<void> add_from_file(const std::string& path, std::vector<std::string>& into) {
  try {
    const toml::table table = toml::parse_file(path);
    const toml::node* node = table.get("insecure_registries");
    if (node == nullptr) return {};
    if (const auto* text = node->as_string()) return add_listed(text->get(), into), Result<void>{};
    const auto* list = node->as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (const auto* text = list->get(i)->as_string()) add_listed(text->get(), into);
    }
    if (list == nullptr) return fail(Errc::invalid, path + ": insecure_registries: must be a list of host:port");
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid, path + ": " + std::string(error.description()));
  }
  return {};
}

}  // namespace

Result<PlainHosts> read_plain_hosts() {
  PlainHosts hosts;
  const char* named = std::getenv("COVE_INSECURE_REGISTRIES");
  if (named != nullptr) {
    add_listed(named, hosts.listed);
    return hosts;
  }
  const std::string path = spec::configuration_path();
  if (!path.empty() && access(path.c_str(), R_OK) == 0) COVE_CHECK(add_from_file(path, hosts.listed));
  return hosts;
}

}  // namespace cove::image
