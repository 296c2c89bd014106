#include <algorithm>

#include "base/text.h"
#include "image/cli/commands.h"
#include "image/snapshot.h"

namespace cove::image {
namespace {

struct PruneOptions {
  bool json = false;
};

void define(Arguments& arguments, PruneOptions& options) {
  arguments.flag("--json", options.json, "Print one JSON object");
}

// Images that came with a snapshot go with the last that stands on them.
Result<Use> in_use(const Store& store) {
  COVE_TRY(const auto used, record::images_in_use());
  COVE_TRY(const std::vector<Image> images, store.list());
  Use use;
  for (const record::ImageUse& one : used) use.layers.insert(one.layers.begin(), one.layers.end());
  for (const Image& image : images) {
    const bool needed =
        std::any_of(used.begin(), used.end(), [&](const record::ImageUse& one) { return one.layers == image.layers; });
    if (image.name.starts_with(kSnapshotNames) && !needed) use.forget.insert(image.name);
  }
  return use;
}

Result<Pruned> prune() {
  COVE_TRY(Store store, open_store());
  return store.prune_after([&] { return in_use(store); });
}

int run(Arguments&, PruneOptions& options) {
  const auto pruned = prune();
  if (!pruned) return report(pruned.error());
  const std::string layers = std::to_string(pruned->layers.size()), leftovers = std::to_string(pruned->leftovers);
  if (options.json) {
    print("{\"layers\":" + layers + ",\"bytes\":" + std::to_string(pruned->bytes) + ",\"leftovers\":" + leftovers +
          "}\n");
  } else {
    print(layers + " layers removed, " + size_text(pruned->bytes) +
          (pruned->leftovers > 0 ? ", and " + leftovers + " leftovers of interrupted commands" : "") + "\n");
  }
  return 0;
}

}  // namespace

const Command kPrune{
    .name = "image prune",
    .usage = "[--json]",
    .summary = "Remove layers that no image, sandbox or snapshot uses",
    .examples = "  cove image prune",
    .run = run_with<PruneOptions>,
    .describe = describe_with<PruneOptions>,
};

}  // namespace cove::image
