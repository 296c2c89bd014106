#include "cli/text.h"
#include "image/cli/commands.h"
#include "record/record.h"

namespace cove::image {
namespace {

void define(Arguments& arguments, bool& json) { arguments.flag("--json", json, "Print one JSON object"); }

void describe(Arguments& arguments) {
  static bool json = false;
  define(arguments, json);
}

// Layers of the images that sandboxes were made from.
Result<std::set<std::string>> layers_in_use(const Store& store) {
  COVE_TRY(const auto sandboxes, record::list());
  std::set<std::string> used;
  for (const record::Info& info : sandboxes) {
    const auto image = store.find(info.spec.image);
    if (image && *image) used.insert((*image)->layers.begin(), (*image)->layers.end());
  }
  return used;
}

Result<Pruned> prune() {
  COVE_TRY(Store store, open_store());
  COVE_TRY(const auto used, layers_in_use(store));
  return store.prune(used);
}

int main(Arguments& arguments, std::vector<std::string> words) {
  bool json = false;
  define(arguments, json);
  if (auto code = arguments.parse(std::move(words))) return *code;
  const auto pruned = prune();
  if (!pruned) return report(pruned.error());
  const std::string layers = std::to_string(pruned->layers.size()), leftovers = std::to_string(pruned->leftovers);
  if (json) {
    print("{\"layers\":" + layers + ",\"bytes\":" + std::to_string(pruned->bytes) + ",\"leftovers\":" + leftovers +
          "}\n");
  } else {
    print(layers + " layers removed, " + cli::size_text(pruned->bytes) +
          (pruned->leftovers > 0 ? ", and " + leftovers + " leftovers of interrupted commands" : "") + "\n");
  }
  return 0;
}

}  // namespace

const Command kPrune{
    .name = "image prune",
    .usage = "[--json]",
    .summary = "Remove layers that no image and no sandbox uses",
    .examples = "  cove image prune",
    .run = main,
    .describe = describe,
};

}  // namespace cove::image
