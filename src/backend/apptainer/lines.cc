#include "backend/apptainer/lines.h"

#include <array>
#include <cstdio>
#include <string_view>

namespace cove::apptainer {
namespace {

// What apptainer makes images of, beside NAME://.
constexpr std::array<std::string_view, 5> kSources{
    "docker-archive:", "docker-daemon:", "oci-archive:", "oci:", "docker:"};

// Trailing zeros of a fixed form say nothing.
std::string plain(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number);
  return text;
}

}  // namespace

Result<Version> read_version(const std::string& said) {
  char program[32] = "", number[32] = "";
  Version version;
  if (std::sscanf(said.c_str(), "%31s version %31s", program, number) != 2 ||
      std::sscanf(number, "%d.%d", &version.major, &version.minor) != 2)
    return fail(Errc::unsupported, "the program does not say its version as apptainer or singularity do");
  version.program = program;
  version.text = version.program + " " + number;
  const bool known = version.program == "apptainer" || version.program.starts_with("singularity");
  const int oldest = version.program == "apptainer" ? 1 : 3;
  if (!known || version.major < oldest || (oldest == 3 && version.major == 3 && version.minor < 8))
    return fail(Errc::unsupported, version.text + " is too old: apptainer 1.0 or singularity 3.8 is needed");
  return version;
}

std::vector<std::string> start_line(const InstanceSpec& spec) {
  std::vector<std::string> line{"instance", "start", "--containall", "--no-home", "--cleanenv", "--no-privs", "--uts"};
  if (spec.overlay.empty())
    line.emplace_back("--writable-tmpfs");
  else
    line.insert(line.end(), {"--overlay", spec.overlay});
  // It would be the host's, with its devices and networks.
  line.insert(line.end(), {"--no-mount", "sys", "--workdir", spec.work});
  if (spec.unpacked) line.emplace_back("--unsquash");
  if (spec.network == "none") line.insert(line.end(), {"--net", "--network", "none"});
  line.insert(line.end(), {"--bind", spec.guest + ":" + kGuestInside + ":ro"});
  // What an image would start by itself is not wanted, and one that was not made by apptainer has nothing to start.
  line.insert(line.end(), {"--bind", spec.guest + ":/.singularity.d/startscript:ro"});
  for (const std::string& bind : spec.binds) line.insert(line.end(), {"--bind", bind});
  if (spec.cpus > 0) line.insert(line.end(), {"--cpus", plain(spec.cpus)});
  if (spec.memory_bytes > 0) line.insert(line.end(), {"--memory", std::to_string(spec.memory_bytes)});
  if (spec.pids > 0) line.insert(line.end(), {"--pids-limit", std::to_string(spec.pids)});
  line.insert(line.end(), {spec.image, spec.name, "--nothing"});
  return line;
}

std::vector<std::string> exec_line(const std::string& name) {
  return {"exec",       "--cleanenv", "--no-privs", "--pwd", "/workspace", "instance://" + name,
          kGuestInside, "--stdio",    "--alone"};
}

std::vector<std::string> stop_line(const std::string& name) { return {"instance", "stop", "--force", name}; }

Result<ImageSource> read_image(const std::string& image) {
  if (image.empty())
    return fail(
        Errc::invalid,
        "an apptainer sandbox is made of an image: give --image with a .sif file, a directory, docker://NAME or a "
        "plain name, or set 'image' in the configuration");
  if (image == "host" || image.starts_with('-') || image.starts_with("instance://"))
    return fail(Errc::invalid, "--image " + image + ": that is no image for apptainer; --backend native knows 'host'");
  if (image.starts_with('/')) return ImageSource{image, ""};
  if (image.find("://") != std::string::npos) return ImageSource{"", image};
  for (const std::string_view source : kSources) {
    if (image.starts_with(source)) return ImageSource{"", image};
  }
  return ImageSource{"", "docker://" + image};
}

std::vector<std::string> build_line(const std::string& address, const std::string& into) {
  return {"build", "--force", into, address};
}

}  // namespace cove::apptainer
