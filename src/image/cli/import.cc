#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/archives.h"
#include "image/cli/commands.h"
#include "image/name.h"

namespace cove::image {
namespace {

struct ImportOptions {
  std::string from, name, workdir, user;
  std::vector<std::string> env, cmd;
};

void define(Arguments& arguments, ImportOptions& options) {
  arguments.texts("-e,--env", options.env, "NAME=VALUE", "Set a variable of the image");
  arguments.texts("--cmd", options.cmd, "WORD", "Add a word to the image's command; repeatable");
  arguments.text("--workdir", options.workdir, "DIR", "Set the initial directory of commands");
  arguments.text("--user", options.user, "USER", "Set the user of commands");
  arguments.positional("FROM", options.from, Need::required, "A directory, a tar (plain, gzip, zstd), or '-'");
  arguments.positional("NAME", options.name, Need::required, "The image's name");
}

Result<Image> import(const ImportOptions& options) {
  ImportSpec spec;
  spec.name = options.name;
  spec.config.env = options.env;
  spec.config.cmd = options.cmd;
  spec.config.cwd = options.workdir;
  spec.config.user = options.user;
  COVE_TRY(Store store, open_store());
  struct stat info{};
  if (options.from != "-" && stat(options.from.c_str(), &info) < 0) return fail_errno("open " + options.from);
  if (S_ISDIR(info.st_mode)) return import_directory(store, options.from, spec);
  UniqueFd file;
  if (options.from != "-") {
    file.reset(open(options.from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno("open " + options.from);
  }
  const auto source = source_of_fd(file ? file.get() : STDIN_FILENO);
  return import_tar(store, *source, spec);
}

int run(Arguments& arguments, ImportOptions& options) {
  if (options.from == "-" && isatty(STDIN_FILENO) == 1)
    return arguments.usage_error("stdin is a terminal: pipe a tar into this command");
  for (const std::string& one : options.env) {
    if (one.find('=') == std::string::npos || one[0] == '=')
      return arguments.usage_error("--env: '" + one + "' is not NAME=VALUE");
  }
  const auto image = import(options);
  if (!image) return report(image.error());
  print(short_name(image->name) + "\n");
  return 0;
}

}  // namespace

const Command kImport{
    .name = "image import",
    .usage = "DIR|TAR|- NAME [--env NAME=VALUE] [--cmd WORD] [--workdir DIR] [--user USER]",
    .summary = "Create an image with one layer from a root file system",
    .examples =
        "  cove image import rootfs/ mine:1\n"
        "  mmdebstrap --variant=minbase bookworm - | cove image import - debian:mine\n"
        "  cove image import rootfs.tar.zst mine --env LANG=C.UTF-8 --workdir /srv",
    .run = run_with<ImportOptions>,
    .describe = describe_with<ImportOptions>,
};

}  // namespace cove::image
