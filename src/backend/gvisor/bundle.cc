#include "backend/gvisor/bundle.h"

#include <sys/resource.h>

#include <nlohmann/json.hpp>

namespace cove::gvisor {
namespace {

using Json = nlohmann::json;

Json capabilities() {
  const Json kept = {"CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER",  "CAP_FSETID",     "CAP_KILL",
                     "CAP_SETGID", "CAP_SETUID",       "CAP_SETFCAP", "CAP_SYS_CHROOT", "CAP_NET_BIND_SERVICE"};
  return {{"bounding", kept}, {"effective", kept}, {"permitted", kept}};
}

Json tmpfs(const std::string& at, const std::string& mode) {
  return {
      {"destination", at}, {"type", "tmpfs"}, {"source", "tmpfs"}, {"options", {"nosuid", "nodev", "mode=" + mode}}};
}

Json mounts(const BundleSpec& spec) {
  Json all = Json::array();
  all.push_back({{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}});
  if (spec.own_tmp) all.push_back(tmpfs("/tmp", "1777"));
  all.push_back(tmpfs("/dev/shm", "1777"));
  all.push_back(tmpfs("/cove/run", "0700"));
  all.push_back(
      {{"destination", kGuestInside}, {"type", "bind"}, {"source", kGuest}, {"options", {"ro", "nosuid", "nodev"}}});
  return all;
}

Json limits() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return Json::array({{{"type", "RLIMIT_NOFILE"}, {"hard", files.rlim_max}, {"soft", files.rlim_cur}},
                      {{"type", "RLIMIT_CORE"}, {"hard", 0}, {"soft", 0}}});
}

std::vector<std::string> line(const RunscSpec& spec, std::vector<std::string> words) {
  std::vector<std::string> all{"runsc", std::string("--root=") + kState};
  if (spec.log_fd >= 0) {
    all.push_back("--log-fd=" + std::to_string(spec.log_fd));
    all.emplace_back("--log-format=json");
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// Control groups are the keeper's business; the overlay is made already, and what is written must arrive in it.
std::vector<std::string> boot_line(const RunscSpec& spec, std::vector<std::string> words) {
  words.insert(words.begin(),
               {"--platform=" + spec.platform, "--network=" + spec.network, "--ignore-cgroups", "--overlay2=none"});
  return line(spec, std::move(words));
}

}  // namespace

std::string make_config(const BundleSpec& spec) {
  const Json namespaces = {{{"type", "pid"}}, {{"type", "ipc"}}, {{"type", "uts"}}, {{"type", "mount"}}};
  const Json process{{"terminal", false},
                     {"user", {{"uid", 0}, {"gid", 0}}},
                     {"args", {kGuestInside, "--listen", kSocketInside}},
                     {"env", Json::array({"PATH=/usr/bin:/bin"})},
                     {"cwd", "/"},
                     {"noNewPrivileges", true},
                     {"capabilities", capabilities()},
                     {"rlimits", limits()}};
  const Json config{
      {"ociVersion", "1.0.2"}, {"hostname", spec.hostname}, {"root", {{"path", kRoot}, {"readonly", false}}},
      {"process", process},    {"mounts", mounts(spec)},    {"linux", {{"namespaces", namespaces}}}};
  return config.dump();
}

std::vector<std::string> run_line(const RunscSpec& spec) {
  return boot_line(spec, {"run", std::string("--bundle=") + kBundle, spec.id});
}

std::vector<std::string> relay_line(const RunscSpec& spec) {
  return line(spec, {"exec", spec.id, kGuestInside, "--relay", kSocketInside});
}

std::vector<std::string> checkpoint_line(const RunscSpec& spec, const std::string& directory) {
  return line(spec, {"checkpoint", "--image-path=" + directory, spec.id});
}

std::vector<std::string> restore_line(const RunscSpec& spec, const std::string& directory) {
  return boot_line(spec, {"restore", std::string("--bundle=") + kBundle, "--image-path=" + directory, spec.id});
}

}  // namespace cove::gvisor
