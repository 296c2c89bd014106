#pragma once

// What apptainer (or singularity) is told. Pure functions, held to recorded command lines by lines_test.cc.

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace cove::apptainer {

// "apptainer version 1.1.9" or "singularity-ce version 3.11.4-jammy": the program and its version. Both have
// `instance`,
// --containall and --writable-tmpfs from these on; unsupported: older.
struct Version {
  std::string program;
  int major = 0, minor = 0;
  std::string text;  // "apptainer 1.1.9"
};
Result<Version> read_version(const std::string& said);

inline constexpr const char* kGuestInside = "/.cove-guest";

struct InstanceSpec {
  std::string name;                // of the instance
  std::string image;               // a .sif file or a directory
  std::string guest;               // on the host; bound in read-only
  std::string overlay;             // a directory that keeps changes; "": in memory, gone at the end
  std::string work;                // a directory for /tmp and /var/tmp
  std::vector<std::string> binds;  // HOST:INSIDE[:ro]
  bool unpacked = false;           // a .sif file is unpacked first, where it cannot be mounted
  std::string network = "none";    // or "host"
  double cpus = 0;                 // limits only where cgroups are delegated
  std::uint64_t memory_bytes = 0;
  std::uint32_t pids = 0;
};
std::vector<std::string> start_line(const InstanceSpec& spec);
// The one long-lived stream: the guest itself holds its ends as standard input and output, and is the last one out.
std::vector<std::string> exec_line(const std::string& name);
std::vector<std::string> stop_line(const std::string& name);

// What is asked for as an image: a file or a directory, used as it is, or the address that it is built from.
struct ImageSource {
  std::string path;     // "" if it has to be built
  std::string address;  // docker://NAME for a plain name; docker-archive:FILE, oras://... as they are
};
Result<ImageSource> read_image(const std::string& image);
std::vector<std::string> build_line(const std::string& address, const std::string& into);

}  // namespace cove::apptainer
