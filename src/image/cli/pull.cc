#include "image/pull.h"

#include <unistd.h>

#include <cstdlib>

#include "cli/print.h"
#include "image/cli/commands.h"
#include "image/cli/stop_on_signal.h"

namespace cove::image {
namespace {

struct PullCommand {
  std::string name;
  bool quiet = false;
  std::optional<Platform> platform;
};

void define(Arguments& arguments, PullCommand& options) {
  arguments.flag("-q,--quiet", options.quiet, "Print only the image's name");
  arguments.value("--platform", "OS/ARCH[/VARIANT]", "Select another platform, such as linux/arm64",
                  [&options](const std::string& text) -> Result<void> {
                    COVE_TRY(options.platform, parse_platform(text));
                    return {};
                  });
  arguments.positional("REF", options.name, cli::Need::required, "The image");
}

std::unique_ptr<Progress> make_progress(const PullCommand& options) {
  if (options.quiet) return make_no_progress();
  const char* term = std::getenv("TERM");
  const bool moves = isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
  return moves ? make_terminal_progress(STDERR_FILENO) : make_plain_progress(STDERR_FILENO);
}

Result<Image> pull_as_asked(const PullCommand& options, const std::stop_token& stop) {
  COVE_TRY(const Reference reference, parse_reference(options.name));
  COVE_TRY(Store store, open_store());
  PullOptions how{.platform = options.platform};
  COVE_TRY(how.plain, read_plain_hosts());
  const auto progress = make_progress(options);
  return pull(store, reference, how, *progress, stop);
}

int run(Arguments&, PullCommand& options) {
  const StopOnSignal signals;
  const auto image = pull_as_asked(options, signals.token());
  if (!image) {
    const int code = cli::report(image.error());
    return signals.token().stop_requested() ? cli::kInterrupted : code;
  }
  cli::print(image->name + "\n");
  return 0;
}

}  // namespace

const Command kPull{
    .name = "image pull",
    .usage = "REF [--quiet] [--platform OS/ARCH]",
    .summary = "Pull an image from a registry, or from docker or podman on this machine",
    .examples =
        "  cove image pull python:3.12\n"
        "  cove image pull localhost:5000/team/tool@sha256:...\n"
        "  cove image pull docker-daemon:mine:latest\n"
        "  cove image pull containers-storage:localhost/mine",
    .run = run_with<PullCommand>,
    .describe = describe_with<PullCommand>,
};

}  // namespace cove::image
