#pragma once

// What a backend can do on this machine, as its probe found out. `cove doctor` prints the spellings, `--require` takes
// those of kRequirements.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cove {

enum class Capability : std::uint8_t {
  session,
  pty,
  files,
  forward,     // ports of the sandbox can be reached from this machine
  volumes,     // directories of this machine can be shown inside
  persistent,  // files are kept over stop and start
  pause,
  snapshot,         // ... of files
  snapshot_memory,  // ... of what runs
  sys,              // a read-only /sys
  statx,
  image_directory,
  image_oci,
  image_engine,
  net_none,
  net_host,
  net_full,
  net_full_private,
  limit_memory,
  limit_cpus,
  limit_pids,
  limit_disk,
  limit_disk_persistent,
  accel,
  platform,
  runtime,
  // What a caller can require: isolation of each kind.
  fs_read,
  fs_write,
  net,
  pid,
  memory,
};

struct CapabilitySpelling {
  Capability capability;
  std::string_view text;  // one that ends with '=' or ':' is followed by Ability::how
};

inline constexpr std::array<CapabilitySpelling, 31> kCapabilities{{
    {Capability::session, "session"},
    {Capability::pty, "pty"},
    {Capability::files, "files"},
    {Capability::forward, "forward"},
    {Capability::volumes, "volumes"},
    {Capability::persistent, "persistent"},
    {Capability::pause, "pause"},
    {Capability::snapshot, "snapshot"},
    {Capability::snapshot_memory, "snapshot:memory"},
    {Capability::sys, "sys"},
    {Capability::statx, "statx"},
    {Capability::image_directory, "image:directory"},
    {Capability::image_oci, "image:oci"},
    {Capability::image_engine, "image:engine"},
    {Capability::net_none, "net:none"},
    {Capability::net_host, "net:host"},
    {Capability::net_full, "net:full"},
    {Capability::net_full_private, "net:full,private"},
    {Capability::limit_memory, "limit:memory="},
    {Capability::limit_cpus, "limit:cpus="},
    {Capability::limit_pids, "limit:pids="},
    {Capability::limit_disk, "limit:disk="},
    {Capability::limit_disk_persistent, "limit:disk,persistent="},
    {Capability::accel, "accel:"},
    {Capability::platform, "platform:"},
    {Capability::runtime, "runtime:"},
    {Capability::fs_read, "fs-read"},
    {Capability::fs_write, "fs-write"},
    {Capability::net, "net"},
    {Capability::pid, "pid"},
    {Capability::memory, "memory"},
}};

constexpr bool in_order_of_the_enum(const auto& spellings) {
  for (std::size_t i = 0; i < spellings.size(); ++i) {
    if (static_cast<std::size_t>(spellings[i].capability) != i) return false;
  }
  return true;
}
static_assert(in_order_of_the_enum(kCapabilities));

inline constexpr std::array kRequirements{Capability::fs_read, Capability::fs_write, Capability::net, Capability::pid,
                                          Capability::memory};

constexpr std::string_view spelling(Capability capability) {
  return kCapabilities[static_cast<std::size_t>(capability)].text;
}

struct Ability {
  Capability what;
  std::string how = {};  // "cgroup v2" of limit:memory=cgroup v2

  Ability(Capability capability, std::string by = {}) : what(capability), how(std::move(by)) {}
  std::string text() const { return std::string(spelling(what)) + how; }
};

class Abilities {
 public:
  Abilities() = default;
  Abilities(std::initializer_list<Ability> all) : all_(all) {}
  void add(Ability ability) { all_.push_back(std::move(ability)); }

  bool has(Capability what) const { return find(what) != nullptr; }
  // nullptr: it cannot.
  const Ability* find(Capability what) const {
    for (const Ability& ability : all_) {
      if (ability.what == what) return &ability;
    }
    return nullptr;
  }
  // As `cove doctor` prints them.
  std::vector<std::string> texts() const {
    std::vector<std::string> found;
    for (const Ability& ability : all_) found.push_back(ability.text());
    return found;
  }

 private:
  std::vector<Ability> all_;
};

}  // namespace cove
