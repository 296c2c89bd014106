#include "base/text.h"
#include "cli/leftovers.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "record/snapshots.h"

namespace cove::cli {
namespace {

struct GcOptions {
  bool json = false;
};

void define(Arguments& arguments, GcOptions& options) {
  arguments.flag("--json", options.json, "Print a JSON array of removed items");
}

int run(Arguments&, GcOptions& options) {
  int code = 0;
  const auto layers = record::clear_layers();  // first, because images of an engine may stand for them
  if (!layers) code = report(layers.error());
  const auto found = find_leftovers(Deadline::after(kLeftoverTime));
  if (!found) return report(found.error());
  std::vector<Leftover> cleared;
  for (const Leftover& leftover : *found) {
    const auto done = clear_leftover(leftover, Deadline::after(kLeftoverTime));
    if (done)
      cleared.push_back(leftover);
    else
      code = report(done.error());
  }
  if (layers && *layers > 0) cleared.push_back({"layers", std::to_string(*layers)});
  show_leftovers(cleared, options.json);
  return code;
}

}  // namespace

const Command kGc{
    .name = "gc",
    .usage = "[--json]",
    .summary = "Remove leftovers of crashed keepers and unreferenced layers",
    .examples = "  cove ls --leftovers\n  cove gc",
    .run = run_with<GcOptions>,
    .describe = describe_with<GcOptions>,
};

}  // namespace cove::cli
