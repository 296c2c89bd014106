#include <fcntl.h>
#include <unistd.h>

#include "image/archives.h"
#include "image/cli/commands.h"
#include "image/files.h"

namespace cove::image {
namespace {

struct SaveOptions {
  std::string name, output, format = "oci";
};

void define(Arguments& arguments, SaveOptions& options) {
  arguments.text("-o,--output", options.output, "FILE", "Write there; default: stdout");
  arguments.text("--format", options.format, "FORMAT", "oci (default) or docker");
  arguments.positional("NAME", options.name, Need::required, "The image");
}

Result<void> save(const SaveOptions& options) {
  COVE_TRY(const Store store, open_store());
  COVE_TRY(const Image image, find_image(store, options.name));
  const ArchiveFormat format = options.format == "docker" ? ArchiveFormat::docker : ArchiveFormat::oci;
  UniqueFd file;
  if (!options.output.empty()) {
    file.reset(open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file) return fail_errno("create " + options.output);
  }
  const int fd = file ? file.get() : STDOUT_FILENO;
  const std::string what = "write " + (file ? options.output : "output");
  auto saved = save_image(store, image, format, [&](std::string_view bytes) { return write_bytes(fd, bytes, what); });
  if (!saved && file) unlink(options.output.c_str());
  return saved;
}

int run(Arguments& arguments, SaveOptions& options) {
  if (options.format != "oci" && options.format != "docker")
    return arguments.usage_error("--format: '" + options.format + "' is neither oci nor docker");
  if (options.output.empty() && isatty(STDOUT_FILENO) == 1)
    return arguments.usage_error("stdout is a terminal: give --output FILE, or redirect");
  const auto saved = save(options);
  return saved ? 0 : report(saved.error());
}

}  // namespace

const Command kSave{
    .name = "image save",
    .usage = "NAME [-o FILE] [--format oci|docker]",
    .summary = "Write an image as an archive that docker and podman load",
    .examples =
        "  cove image save mine:1 -o mine.tar\n"
        "  cove image save mine:1 --format docker | docker load",
    .run = run_with<SaveOptions>,
    .describe = describe_with<SaveOptions>,
};

}  // namespace cove::image
