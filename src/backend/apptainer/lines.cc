#include "backend/apptainer/lines.h"

#include <cstdio>

namespace cove::apptainer {
namespace {

constexpr const char* kGuestInside = "/.cove-guest";

// Trailing zeros of a fixed form say nothing.
std::string plain(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number);
  return text;
}

}  // namespace

Result<Version> read_version(const std::string& said) {
  char program[32] = "";
  Version version;
  if (std::sscanf(said.c_str(), "%31s version %d.%d", program, &version.major, &version.minor) != 3)
    return fail(Errc::unsupported, "the program does not say its version as apptainer or singularity do");
  version.program = program;
  const bool known = version.program == "apptainer" || version.program.starts_with("singularity");
  const int oldest = version.program == "apptainer" ? 1 : 3;
  if (!known || version.major < oldest || (oldest == 3 && version.major == 3 && version.minor < 8))
    return fail(Errc::unsupported, version.program + " " + std::to_string(version.major) + "." +
                                       std::to_string(version.minor) +
                                       " is too old: apptainer 1.0 or singularity 3.8 is needed");
  return version;
}

std::vector<std::string> start_line(const InstanceSpec& spec) {
  std::vector<std::string> line{"instance", "start", "--containall", "--no-home", "--cleanenv", "--no-privs"};
  if (spec.overlay.empty())
    line.emplace_back("--writable-tmpfs");
  else
    line.insert(line.end(), {"--overlay", spec.overlay});
  if (spec.network == "none") line.insert(line.end(), {"--net", "--network", "none"});
  line.insert(line.end(), {"--bind", spec.guest + ":" + kGuestInside + ":ro"});
  for (const std::string& volume : spec.volumes) line.insert(line.end(), {"--bind", volume});
  if (spec.cpus > 0) line.insert(line.end(), {"--cpus", plain(spec.cpus)});
  if (spec.memory_bytes > 0) line.insert(line.end(), {"--memory", std::to_string(spec.memory_bytes)});
  if (spec.pids > 0) line.insert(line.end(), {"--pids-limit", std::to_string(spec.pids)});
  line.insert(line.end(), {spec.image, spec.name});
  return line;
}

std::vector<std::string> exec_line(const std::string& name) {
  return {"exec", "--containall", "--no-home", "--cleanenv", "instance://" + name, kGuestInside, "--stdio"};
}

std::vector<std::string> stop_line(const std::string& name) { return {"instance", "stop", "--force", name}; }

std::vector<std::string> build_line(const std::string& image, const std::string& into) {
  if (image.find("://") == std::string::npos) return {};
  return {"build", "--force", into, image};
}

}  // namespace cove::apptainer
