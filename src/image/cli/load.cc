#include <fcntl.h>
#include <unistd.h>

#include "image/archives.h"
#include "image/cli/commands.h"
#include "image/name.h"

namespace cove::image {
namespace {

struct LoadOptions {
  std::string file, name, platform;
  bool quiet = false;
};

void define(Arguments& arguments, LoadOptions& options) {
  arguments.text("--name", options.name, "NAME", "Set the image's name, overriding the archive");
  arguments.text("--platform", options.platform, "OS/ARCH", "Select a platform of the image; default: this machine's");
  arguments.flag("-q,--quiet", options.quiet, "Print nothing");
  arguments.positional("FILE", options.file, Need::required, "The archive, '-' for stdin");
}

// "dir/My_app.oci.tar.gz" is "my_app", if that can name an image.
std::string name_of_file(const std::string& file) {
  std::string stem = file.substr(file.rfind('/') + 1);
  stem = stem.substr(0, stem.find('.'));
  for (char& c : stem) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return normal_name(stem) ? stem : "";
}

Result<std::vector<Image>> load(const LoadOptions& options) {
  LoadSpec spec;
  spec.name = options.name;
  if (!options.platform.empty()) {
    COVE_TRY(spec.platform, parse_platform(options.platform));
  }
  UniqueFd file;
  if (options.file != "-") {
    file.reset(open(options.file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno("open " + options.file);
    spec.fallback = name_of_file(options.file);
  }
  COVE_TRY(Store store, open_store());
  return load_archive(store, file ? file.get() : STDIN_FILENO, spec);
}

int run(Arguments& arguments, LoadOptions& options) {
  if (options.file == "-" && isatty(STDIN_FILENO) == 1)
    return arguments.usage_error("stdin is a terminal: give a FILE, or pipe an archive into this command");
  const auto images = load(options);
  if (!images) return report(images.error());
  for (const Image& image : *images) {
    if (!options.quiet) print(short_name(image.name) + "\n");
  }
  return 0;
}

}  // namespace

const Command kLoad{
    .name = "image load",
    .usage = "FILE|- [--name NAME] [--platform OS/ARCH]",
    .summary = "Load images from an archive of docker save, podman save or skopeo",
    .examples =
        "  cove image load app.tar\n"
        "  docker save app | cove image load -\n"
        "  skopeo copy docker://debian:12 oci-archive:d.tar:debian:12 && cove image load d.tar",
    .run = run_with<LoadOptions>,
    .describe = describe_with<LoadOptions>,
};

}  // namespace cove::image
