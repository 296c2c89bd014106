#pragma once

// What runsc is told: an OCI bundle and command lines. Pure functions.

#include <string>
#include <vector>

namespace cove::gvisor {

// Where things are in the mount namespace that runsc runs in, all of it in memory and gone with it.
inline constexpr const char* kState = "/tmp/run";      // runsc's --root
inline constexpr const char* kBundle = "/tmp/bundle";  // holds config.json
inline constexpr const char* kRoot = "/tmp/root";      // the sandbox's root, put together from its layers
inline constexpr const char* kGuest = "/tmp/guest";
// ... and inside the sandbox.
inline constexpr const char* kGuestInside = "/cove/guest";
inline constexpr const char* kSocketInside = "/cove/run/guest";

struct BundleSpec {
  std::string hostname;
  bool own_tmp = true;  // /tmp in the sandbox's memory; otherwise the root's
};
// config.json. noNewPrivileges, the native backend's capabilities, nothing of the host's but the root and the guest.
std::string make_config(const BundleSpec& spec);

struct RunscSpec {
  std::string id;        // unique in its network namespace
  std::string platform;  // "systrap", "ptrace"
  std::string network = "none";
  int log_fd = -1;  // where runsc says what went wrong
};
std::vector<std::string> run_line(const RunscSpec& spec);
std::vector<std::string> relay_line(const RunscSpec& spec);
std::vector<std::string> checkpoint_line(const RunscSpec& spec, const std::string& directory);
std::vector<std::string> restore_line(const RunscSpec& spec, const std::string& directory);

}  // namespace cove::gvisor
