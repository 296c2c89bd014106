#include "keeper/keeper_main.h"

#include "cli/arguments.h"

namespace cove::cli {

// Started by libcove with descriptors of its own (proto/launch.h), never by a person.
const Command kKeeper{
    .name = "keeper",
    .usage = "",
    .summary = "Look after one sandbox",
    .examples = "",
    // NOLINTNEXTLINE(performance-unnecessary-value-param): every sub-command has this form
    .run = [](Arguments&, std::vector<std::string>) { return keeper::keeper_main(); },
    .describe = [](Arguments&) {},
    .visible = Visible::no,
};

}  // namespace cove::cli
