#pragma once

// What apptainer (or singularity) is told. Pure functions, held to recorded command lines by lines_test.cc.

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
};
Result<Version> read_version(const std::string& said);

struct InstanceSpec {
  std::string name;                  // of the instance
  std::string image;                 // a .sif file or a directory
  std::string guest;                 // on the host; bound in read-only
  std::string overlay;               // a directory that keeps changes; "": in memory, gone at the end
  std::vector<std::string> volumes;  // HOST:INSIDE[:ro]
  std::string network = "none";      // or "host"
  double cpus = 0;                   // limits only where cgroups are delegated
  std::uint64_t memory_bytes = 0;
  std::uint32_t pids = 0;
};
std::vector<std::string> start_line(const InstanceSpec& spec);
// One long-lived stream to the guest, which speaks on its standard input and output.
std::vector<std::string> exec_line(const std::string& name);
std::vector<std::string> stop_line(const std::string& name);
// docker://, library:// and the like become a .sif once; everything else is used as it is ("" then).
std::vector<std::string> build_line(const std::string& image, const std::string& into);

}  // namespace cove::apptainer
