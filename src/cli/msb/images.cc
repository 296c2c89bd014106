// image, pull, load: the words of msb as those of `cove image`

#include <unistd.h>

#include "backend/guest_path.h"
#include "cli/arguments.h"
#include "cli/msb/msb.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "os/child.h"

extern char** environ;

namespace cove::cli::msb {
namespace {

// Not by exec: its exit code for an error of its own is not msb's.
int run_image_program(std::vector<std::string> words) {
  const auto program = find_companion("cove-image", "COVE_IMAGE_PROGRAM");
  if (!program) return failed(program.error());
  os::ExecSpec exec{.program = *program, .argv = {"cove-image"}};
  exec.argv.insert(exec.argv.end(), words.begin(), words.end());
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) exec.env.emplace_back(*entry);
  auto child = os::Child::spawn(exec);
  if (!child) return failed(child.error());
  const auto status = child->wait(Deadline::never());
  if (!status) return failed(status.error());
  return status->code == kOwnError ? kFailed : status->code;
}

struct PullOptions {
  Common common;
  std::string reference;
  bool force = false;
};

void define(Arguments& arguments, PullOptions& options) {
  define(arguments, options.common);
  arguments.flag("-f,--force", options.force, "Ask the registry again; this is always done");
  arguments.positional("REFERENCE", options.reference, Need::required, "The image");
}

int run(Arguments&, PullOptions& options) {
  std::vector<std::string> ours{"pull", options.reference};
  if (options.common.quiet) ours.emplace_back("--quiet");
  return run_image_program(std::move(ours));
}

struct LoadOptions {
  Common common;
  std::string input = "-", tag;
};

void define(Arguments& arguments, LoadOptions& options) {
  define(arguments, options.common);
  arguments.text("-i,--input", options.input, "FILE", "Read this archive; default: stdin");
  arguments.text("-t,--tag", options.tag, "REF", "Set the image's name, overriding the archive");
}

int run(Arguments&, LoadOptions& options) {
  std::vector<std::string> ours{"load", options.input};
  if (!options.tag.empty()) ours.insert(ours.end(), {"--name", options.tag});
  if (options.common.quiet) ours.emplace_back("--quiet");
  return run_image_program(std::move(ours));
}

// `image pull` and `image load` are `pull` and `load`; the others have other words for the same things.
int image_main(Arguments& arguments, std::vector<std::string> words) {
  if (words.empty()) return arguments.usage_error("COMMAND is missing: list, inspect, pull, load, save, remove, prune");
  const std::string verb = words[0];
  if (verb == "pull" || verb == "load") {
    words.erase(words.begin());
    const Command& command = verb == "pull" ? kPull : kLoad;
    Arguments own(command);
    return command.run(own, std::move(words));
  }
  if (verb == "list") words[0] = "ls";
  if (verb == "remove") words[0] = "rm";
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i] != "--format" || words[i + 1] != "json" || verb == "save") continue;
    words[i] = "--json";
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return run_image_program(std::move(words));
}

}  // namespace

const Command kImage{
    .name = "image",
    .usage = "COMMAND ...",
    .summary = "Images: list, inspect, pull, load, save, remove, prune",
    .examples = "  msb image list\n  msb image rm alpine",
    .run = image_main,
    .describe = [](Arguments&) {},
    .program = "msb",
};

const Command kPull{
    .name = "pull",
    .usage = "REFERENCE [--quiet]",
    .summary = "Pull an image from a registry",
    .examples = "  msb pull alpine",
    .run = run_with<PullOptions>,
    .describe = describe_with<PullOptions>,
    .program = "msb",
};

const Command kLoad{
    .name = "load",
    .usage = "[--input FILE] [--tag REF]",
    .summary = "Load images from an archive, such as of docker save",
    .examples = "  msb load -i app.tar -t app:1\n  docker save app | msb load",
    .run = run_with<LoadOptions>,
    .describe = describe_with<LoadOptions>,
    .program = "msb",
};

}  // namespace cove::cli::msb
