#pragma once

// What the first process of a native sandbox needs to know, prepared by the keeper so that the process itself, between
// clone and exec, allocates nothing.

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cove::native {

// Lowers: 64 of an image (image/store.h) and what a chain of sealed layers is at most, with room for blocks that are
// still being merged.
inline constexpr std::size_t kMostLayers = 8, kMostLowers = 128, kMostVolumes = 64;

// What the guest may have beyond the limit on processes, so that a command can be started, and can end the others, when
// the limit is reached.
inline constexpr std::uint32_t kReservedProcesses = 4;

// One overlay of the root: what is shown, and where changes go.
struct Layer {
  std::string name;                 // of its directory below the sandbox's `fs`: "root", "usr"
  std::string target;               // below the new root; "." for the root itself
  std::vector<std::string> lowers;  // topmost first
  std::size_t sealed = 0;           // how many of them, from the top, are sealed layers
  int volume = -1;                  // of which the lowest is a copy-on-write view; -1: none
  std::string upper, work;          // unused with Plan::disk_bytes
};

struct Volume {
  std::string source, target;  // both absolute, without . and ..
  bool read_only = false;
  bool copied = false;    // shown through an overlay: changes stay in the sandbox until they are applied
  bool as_it_is = false;  // where the file system cannot map owners it is shown with those that it has
};

struct Plan {
  std::vector<Layer> layers;  // the root first
  std::vector<Volume> volumes;
  bool volumes_are_sent = false;  // as mounts with mapped ids, by the keeper; otherwise the process binds them itself
  // 0: changes go to the layers' directories. Otherwise to a file system of this size: a mount that the keeper has made
  // (`disk`), or one in memory.
  std::uint64_t disk_bytes = 0;
  int disk = -1;
  std::string resolv_conf;  // "" leaves what the image has
  std::string hostname;
  bool sys = false;            // shows a read-only /sys
  int host_sys = -1;           // ... this one, a mount of the keeper's: with the host's network only root can
  std::string guest;           // the program's path on the host
  bool own_network = true;     // then its loopback is brought up
  bool makes_network = false;  // ... by the process itself: nobody else needs it before
  bool drop_groups = false;
  bool is_guess = false;                   // everything but for whom it is: the process waits for the final plan
  rlim_t most_processes = RLIM_INFINITY;   // of commands
  int sync = -1, channel = -1, null = -1;  // the child's descriptors
  int keepers_sync = -1;                   // the other end, of which the child has a copy
};

}  // namespace cove::native
