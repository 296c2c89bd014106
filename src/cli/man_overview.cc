#include "cli/man_overview.h"

#include "cli/arguments.h"
#include "cli/roff.h"
#include "spec/settings.h"

namespace cove::cli {
namespace {

void describe_cove(Arguments& arguments) {
  static bool version = false;
  arguments.flag("-V,--version", version, "Print the version");
}

std::string environment_section() {
  std::string text = roff_section("ENVIRONMENT");
  for (const spec::Setting& setting : spec::settings())
    text += roff_item(roff_bold(spec::environment_name(setting)),
                      std::string(setting.help) + " (" + spec::option_name(setting) + ")");
  text += roff_item(roff_bold("COVE_HOME"), "Directory of sandboxes, snapshots and images; see FILES");
  text += roff_item(roff_bold("COVE_SCRATCH_DIR"), "Directory of apptainer's images and changed files");
  text += roff_item(roff_bold("COVE_INSECURE_REGISTRIES"), "Registries to use without TLS, separated by commas");
  text +=
      roff_item(roff_bold("COVE_ENGINE_TIMEOUT"), "Timeout of a call to a container engine, in seconds; 60 by default");
  text += roff_item(roff_bold("COVE_RUNSC"), "Path of gVisor's runsc");
  text += roff_item(roff_bold("COVE_MCP_TOKEN"), "Bearer token that 'cove mcp --http' asks for");
  text += roff_item(roff_bold("COVE_MSB_BACKEND"), "Backend of 'cove msb'");
  return text + roff_item(roff_bold("NO_COLOR"), "Print no colours");
}

std::string files_section() {
  return roff_section("FILES") +
         roff_item(
             "\\fI$XDG_CONFIG_HOME/cove/config.toml\\fR, else \\fI\\(ti/.config/cove/config.toml\\fR",
             "Settings of new sandboxes, in TOML. Options win over variables, and variables over this file. Keys: " +
                 spec::known_keys() + ". The table [terminal] is for the terminal tool.") +
         roff_item("\\fI$COVE_HOME\\fR, else \\fI$XDG_STATE_HOME/cove\\fR, else \\fI\\(ti/.local/state/cove\\fR",
                   "Sandboxes, snapshots, images and caches. Private.");
}

std::vector<Command> visible_commands() {
  std::vector<Command> all;
  for (const Command& command : commands()) {
    if (command.visible == Visible::yes) all.push_back(command);
  }
  return all;
}

}  // namespace

ManualPage manual_overview() { return manual_page(kCove, visible_commands(), environment_section() + files_section()); }

const Command kCove{
    .name = "",
    .usage = "COMMAND [OPTIONS] ...",
    .summary = "A terminal for agents; safe, stateful, instant",
    .examples =
        "  cove run -- 'echo hi; exit 3'      one command in a sandbox of its own\n"
        "  cove create t                      a sandbox that stays\n"
        "  cove sh t 'cd /tmp; X=1'           its session keeps directory, variables, functions\n"
        "  cove sh t 'pwd; echo $X'\n"
        "  cove rm t",
    .run = nullptr,
    .describe = describe_cove,
};

}  // namespace cove::cli
