#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cove {

// What a sandbox is asked to be. Empty and zero mean "the backend's default"; anything else must be honoured or
// refused.
struct SandboxSpec {
  std::string name;
  std::string directory;  // the sandbox's own on this machine, given by the keeper; never sent or stored
  std::string backend = "auto";
  std::vector<std::string> require;  // what `auto` must find: see kRequirements
  std::string image, net, cwd;
  std::string engine;                     // program of a container engine; "" is found
  std::string accel;                      // of a machine: "auto", "kvm" or "tcg"
  std::string kernel;                     // ... a file; "" is found
  std::string runtime;                    // what an engine runs containers with; "" is its own choice
  std::vector<std::string> image_layers;  // of an image of the store: its diff ids, settled when the sandbox is made
  std::string user;                       // whom sessions run as; "" is root
  std::vector<std::string> command;       // what the image would run; never stored
  bool fresh = false;                     // a machine boots, though its memory was saved; never stored
  std::string pull = "missing";           // or "always", "never": whether to fetch the image; never stored
  std::vector<std::string> layers;        // sealed ones above the image, the lowest first: see native/layers.h
  std::vector<std::pair<std::string, std::string>>
      env;                                       // the final environment: base, -e and forwarded, already filtered
  std::vector<std::string> env_names_forwarded;  // their values are never written to disk
  std::vector<std::string> volumes;              // HOST:INSIDE[:ro|:cow]
  std::int64_t copies_began_ns = 0;              // of volumes shown as a copy: when, by the clock of files
  double cpus = 0;
  std::uint64_t memory_bytes = 0, disk_bytes = 0;
  std::uint32_t pids = 0;
  std::uint64_t timeout_ms = 0;                           // default for each command
  std::uint64_t idle_timeout_ms = 0;                      // 0: none
  std::uint64_t max_duration_ms = 0;                      // 0: none
  std::uint64_t log_cap_bytes = std::uint64_t{64} << 20;  // kept per command
  bool persistent = false;
  bool sys = false;         // shows a read-only /sys
  bool login = true;        // sessions read the login start-up files
  bool owned = false;       // ends with its owner
  bool checkpoint = false;  // each command that changes files gets a layer of its own
  std::string from;         // the snapshot whose sessions it begins with; never stored
  std::string memory;       // directory of Place::save_memory that it goes on from; never sent or stored
  bool inherits = false;    // the place brings variables and a directory of its own, below those here; never stored
  // Ready only when its first shell is, which is then kept until it is used; never stored.
  bool prepared = false;
  // The first command's two streams are wanted apart: what it waits for is made so.
  bool split = false;
};

// In a sandbox's directory: there is something elsewhere, too (Backend::forget).
inline constexpr const char* kKeptOutside = "container";

}  // namespace cove
