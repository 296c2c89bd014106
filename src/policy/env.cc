#include "policy/env.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "backend/traits.h"
#include "os/accounts.h"
#include "policy/secrets.h"

namespace cove::policy {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool is_ours(std::string_view name) { return name.starts_with("COVE_"); }

std::string find(const HostEnv& host, std::string_view name, std::string fallback) {
  for (const auto& [key, value] : host) {
    if (key == name && !value.empty()) return value;
  }
  return fallback;
}

// Only of what bytes are as characters does a locale like this one differ from none; of the rest it has a file each,
// which every program inside would read for nothing.
Variables isolated_base(const HostEnv& host) {
  return {{"PATH", kPath},
          {"HOME", "/root"},
          {"USER", "root"},
          {"SHELL", "/bin/bash"},
          {"LC_CTYPE", "C.UTF-8"},
          {"TERM", find(host, "TERM", "xterm-256color")},
          {"TZ", find(host, "TZ", "UTC")}};
}

// The rest is the image's, or the guest's to add.
Variables engine_base(const HostEnv& host) { return {{"TERM", find(host, "TERM", "xterm-256color")}}; }

// Bash passes exported functions in variables like BASH_FUNC_f%%: those names are the host's own, so they are kept.
Variables local_base(const HostEnv& host) {
  Variables base;
  for (const auto& [key, value] : host) {
    if (!is_provider_secret(key) && !is_ours(key)) base.emplace(key, value);
  }
  const auto user = os::find_account(geteuid());
  const auto provide = [&](const char* name, const std::string& value) {
    if (base[name].empty()) base[name] = value;
  };
  provide("PATH", kPath);
  provide("HOME", user ? user->home : "/");
  provide("USER", user ? user->name : "nobody");
  provide("SHELL", user && !user->shell.empty() ? user->shell : "/bin/sh");
  provide("LANG", "C.UTF-8");
  provide("TERM", "xterm-256color");
  return base;
}

Failure bad_name(std::string_view option, const std::string& name) {
  return fail(Errc::invalid,
              std::string(option) + " '" + name +
                  "': a variable's name is made of letters, digits and '_' and does not begin with a digit");
}

Result<std::vector<std::string>> forwarded_names(const std::string& wanted, const HostEnv& host) {
  const bool pattern = wanted.find('*') != std::string::npos;
  std::string plain = wanted;
  std::replace(plain.begin(), plain.end(), '*', '_');
  if (!is_variable_name(plain)) return bad_name("--forward-env", wanted);
  std::vector<std::string> names;
  for (const auto& [key, value] : host) {
    const bool matches = pattern ? is_variable_name(key) && fnmatch(wanted.c_str(), key.c_str(), 0) == 0 &&
                                       !looks_secret(key) && !is_ours(key)
                                 : key == wanted;
    if (matches) names.push_back(key);
  }
  return names;
}

}  // namespace

HostEnv host_env() {
  HostEnv all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos && equals > 0) all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

bool is_variable_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::all_of(name.begin(), name.end(), good);
}

Result<void> fill_env(SandboxSpec& spec, const EnvRequest& request, const HostEnv& host) {
  const Traits& backend = traits_of(spec.backend);
  Variables env;  // a snapshot brings its own
  if (spec.from.empty()) {
    env = backend.is_this_machine        ? local_base(host)
          : backend.image_sets_variables ? engine_base(host)
                                         : isolated_base(host);
  }
  for (const std::string& entry : request.image) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos && is_variable_name(entry.substr(0, equals)))
      env[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  std::vector<std::string> forwarded;
  for (const std::string& wanted : request.forward) {
    COVE_TRY(const auto names, forwarded_names(wanted, host));
    for (const std::string& name : names) {
      env[name] = find(host, name, "");
      forwarded.push_back(name);
    }
  }
  for (const std::string& entry : request.set) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (!is_variable_name(name)) return bad_name("-e", name);
    if (equals == std::string::npos) {
      return fail(Errc::invalid, "-e '" + entry + "': write -e " + entry + "=VALUE, or --forward-env " + entry +
                                     " to take the host's value");
    }
    if (entry.find('\0') != std::string::npos)
      return fail(Errc::invalid, "-e " + name + ": its value holds a NUL byte");
    env[name] = entry.substr(equals + 1);
    std::erase(forwarded, name);
  }
  std::sort(forwarded.begin(), forwarded.end());
  forwarded.erase(std::unique(forwarded.begin(), forwarded.end()), forwarded.end());
  spec.env.assign(env.begin(), env.end());
  spec.env_names_forwarded = std::move(forwarded);
  return {};
}

}  // namespace cove::policy
