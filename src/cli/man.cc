#include "cli/companion.h"
#include "cli/man_overview.h"
#include "cli/mcp.h"
#include "cli/print.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct ManOptions {
  std::string directory, command, subcommand;
};

void define(Arguments& arguments, ManOptions& options) {
  arguments.text("--directory", options.directory, "DIR", "Write all pages there, as NAME.1, instead of printing one");
  arguments.positional("COMMAND", options.command, Need::optional, "Print its page; without it, that of cove");
  arguments.positional("SUBCOMMAND", options.subcommand, Need::optional, "As in 'cove man image pull'");
}

// What the program cove-image has a table of.
bool is_of_image_program(std::string_view name) {
  return name == "image" || name.starts_with("image-") || name.starts_with("snapshot-");
}

std::vector<ManualPage> own_pages() {
  std::vector<ManualPage> pages{manual_overview(), manual_page(kMcpInstall)};
  for (const Command& command : commands()) {
    if (command.visible == Visible::no || is_of_image_program(command.name)) continue;
    const std::span<const Command> install(&kMcpInstall, 1);
    pages.push_back(manual_page(command, command.name == "mcp" ? install : std::span<const Command>()));
  }
  return pages;
}

int print_page(const std::string& name) {
  if (is_of_image_program(name)) return become_image_program({"man", name});
  for (const ManualPage& page : own_pages()) {
    if (page.name != (name.empty() ? "cove" : "cove-" + name)) continue;
    print(page.text);
    return 0;
  }
  complain("there is no manual page 'cove-" + name + "'\nTry 'cove --help'.");
  return kUsageError;
}

int run(Arguments& arguments, ManOptions& options) {
  if (options.directory.empty())
    return print_page(options.command + (options.subcommand.empty() ? "" : "-" + options.subcommand));
  if (!options.command.empty()) return arguments.usage_error("give a command or --directory, not both");
  if (auto written = write_manual_pages(options.directory, own_pages()); !written) return report(written.error());
  return become_image_program({"man", "--directory", options.directory});
}

}  // namespace

const Command kMan{
    .name = "man",
    .usage = "[COMMAND [SUBCOMMAND] | --directory DIR]",
    .summary = "Print a manual page, or write all of them",
    .examples = "  cove man run | man -l -\n  cove man --directory /usr/local/share/man/man1",
    .run = run_with<ManOptions>,
    .describe = describe_with<ManOptions>,
};

}  // namespace cove::cli
