#include <toml++/toml.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "spec/settings.h"

namespace cove::spec {
namespace {

// A value as one would type it on the command line: 30, "5m", 1.5.
std::optional<std::string> as_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) {
    std::ostringstream text;
    text << number->get();
    return text.str();
  }
  return std::nullopt;
}

Error at(const std::string& path, const toml::source_region& where, const std::string& message) {
  return Error{Errc::invalid, path + ":" + std::to_string(where.begin.line) + ": " + message};
}

Result<void> apply(const std::string& path, std::string_view key, const toml::node& node, SandboxSpec& spec) {
  if (key == "insecure_registries" || key == "terminal") return {};  // cove-image and src/terminal read them
  for (const Setting& setting : settings()) {
    if (setting.key != key) continue;
    const auto text = as_text(node);
    if (!text) return fail(at(path, node.source(), std::string(key) + ": must be a string, a number, true or false"));
    if (auto done = setting.set(spec, *text); !done) {
      return fail(at(path, node.source(), std::string(key) + ": " + done.error().message));
    }
    return {};
  }
  return fail(at(path, node.source(), "unknown key '" + std::string(key) + "' (known keys: " + known_keys() + ")"));
}

}  // namespace

Result<void> read_configuration_file(const std::string& path, SandboxSpec& spec) {
  if (access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return {};
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fail(Errc::denied, path + ": cannot be read");
  try {
    const toml::table table = toml::parse(text.str(), path);
    for (const auto& [key, node] : table) COVE_CHECK(apply(path, key.str(), node, spec));
  } catch (const toml::parse_error& error) {
    return fail(at(path, error.source(), std::string(error.description())));
  }
  return {};
}

}  // namespace cove::spec
