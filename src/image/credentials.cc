#include "image/credentials.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "base/json_text.h"
#include "image/base64.h"
#include "image/run_program.h"

namespace cove::image {
namespace {

using Json = nlohmann::json;
using Found = Result<std::optional<Credentials>>;

constexpr std::size_t kMostFileBytes = std::size_t{4} << 20, kMostAnswer = std::size_t{1} << 20;
constexpr const char* kDockerHubKey = "https://index.docker.io/v1/";

std::string text_of(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& member(const Json& object, const char* key) {
  static const Json none = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : none;
}

// Keys are hosts, or addresses of an old API ("https://host/v1/"), or, for podman, host/path.
std::string key_form(std::string key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (key.starts_with(scheme)) key.erase(0, scheme.size());
  }
  for (const std::string_view version : {"/v1/", "/v2/", "/v1", "/v2", "/"}) {
    if (key.ends_with(version)) key.erase(key.size() - version.size());
  }
  if (key == "index.docker.io" || key == "registry-1.docker.io") key = "docker.io";
  return key;
}

// The longest path first.
std::vector<std::string> keys_for(const std::string& registry, const std::string& repository) {
  std::vector<std::string> keys;
  for (std::string path = registry + "/" + repository; path.size() > registry.size(); path.resize(path.rfind('/'))) {
    keys.push_back(path);
  }
  keys.push_back(registry);
  return keys;
}

const Json* find_key(const Json& object, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    for (const auto& [name, value] : object.items()) {
      if (key_form(name) == key) return &value;
    }
  }
  return nullptr;
}

bool is_helper_name(const std::string& name) {
  return !name.empty() && name.size() < 64 && name[0] != '-' &&
         std::all_of(
             name.begin(), name.end(),
             [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                      c == '_' || c == '.';
             });
}

Credentials as_credentials(std::string user, std::string password, std::string from) {
  Credentials found{std::move(user), std::move(password), "", std::move(from)};
  if (found.user == "<token>") found.identity_token = std::move(found.password);
  return found;
}

// "credentials not found in native keychain" is how a helper says that it has none, with exit code 1 and on stdout.
Found ask_helper(const std::string& name, const std::string& registry, const std::string& path) {
  if (!is_helper_name(name)) return fail(Errc::invalid, path + ": '" + name + "' is no name of a credential helper");
  const std::string program = "docker-credential-" + name;
  const ProgramSpec spec{.argv = {program, "get"},
                         .input = registry == "docker.io" ? kDockerHubKey : registry,
                         .deadline = Deadline::after(std::chrono::seconds(60))};
  std::string out;
  auto end = run_program(spec, {}, [&](int fd) { out = read_some(fd, kMostAnswer); });
  if (!end) return fail(std::move(end).error().because(path + " asks for a credential helper"));
  if (end->status.code != 0) {
    if (out.find("not found") != std::string::npos) return std::nullopt;
    return fail(Errc::denied, program + " gave no credentials for " + registry + ": it " + end->status.text());
  }
  const Json answer = parse_json(out);
  if (text_of(answer, "Secret").empty()) return fail(Errc::protocol, program + " gave an answer without a secret");
  return as_credentials(text_of(answer, "Username"), text_of(answer, "Secret"), program);
}

Found read_entry(const Json& entry, const std::string& path, const std::string& registry) {
  if (const std::string token = text_of(entry, "identitytoken"); !token.empty()) {
    return as_credentials("<token>", token, path);
  }
  const std::string coded = text_of(entry, "auth");
  if (coded.empty()) {
    if (text_of(entry, "username").empty()) return std::nullopt;
    return as_credentials(text_of(entry, "username"), text_of(entry, "password"), path);
  }
  const auto both = from_base64(coded);
  const std::size_t colon = both ? both->find(':') : std::string::npos;
  if (colon == std::string::npos) {
    return fail(Errc::invalid,
                path + ": the entry for " + registry + " is damaged: run 'docker login " + registry + "'");
  }
  return as_credentials(both->substr(0, colon), both->substr(colon + 1), path);
}

std::string from_environment(const char* name, const std::string& behind) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '/' ? value + behind : "";
}

std::array<std::string, 2> files() {
  std::string docker = from_environment("DOCKER_CONFIG", "/config.json");
  if (docker.empty()) docker = from_environment("HOME", "/.docker/config.json");
  return {docker, from_environment("XDG_RUNTIME_DIR", "/containers/auth.json")};
}

}  // namespace

Found credentials_in(const std::string& text, const std::string& path, const std::string& registry,
                     const std::string& repository) {
  const Json json = parse_json(text);
  if (!json.is_object()) return fail(Errc::invalid, path + " is not JSON: correct or remove it");
  const auto keys = keys_for(registry, repository);
  if (const Json* helper = find_key(member(json, "credHelpers"), keys); helper != nullptr && helper->is_string()) {
    return ask_helper(helper->get<std::string>(), registry, path);
  }
  if (const Json* entry = find_key(member(json, "auths"), keys)) {
    COVE_TRY(auto found, read_entry(*entry, path, registry));
    if (found) return found;
  }
  const std::string store = text_of(json, "credsStore");
  if (store.empty()) return std::nullopt;
  return ask_helper(store, registry, path);
}

Found find_credentials(const std::string& registry, const std::string& repository) {
  for (const std::string& path : files()) {
    if (path.empty() || access(path.c_str(), F_OK) != 0) continue;
    std::ifstream file(path);
    std::string text(kMostFileBytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (file.bad() || (text.empty() && !file.eof())) return fail(Errc::denied, path + " cannot be read");
    COVE_TRY(auto found, credentials_in(text, path, registry, repository));
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace cove::image
