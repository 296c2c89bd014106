#include "base/text.h"
#include "image/cli/commands.h"
#include "image/digest.h"
#include "image/name.h"

namespace cove::image {
namespace {

struct LsOptions {
  bool json = false, names = false;
};

void define(Arguments& arguments, LsOptions& options) {
  arguments.flag("--json", options.json, "Print a JSON array");
  arguments.flag("-q,--names", options.names, "Print names only");
}

// What can be written in place of a name.
std::string id_of(const Image& image) {
  const std::string& digest = image.digest.empty() ? image.config_digest : image.digest;
  return digest.size() < kSha256.size() + 12 ? "-" : digest.substr(kSha256.size(), 12);
}

void show_table(const std::vector<Image>& all) {
  std::vector<cli::Row> rows{{tinted(cli::Tint::bold, "NAME"), tinted(cli::Tint::bold, "ID"),
                              tinted(cli::Tint::bold, "LAYERS"), tinted(cli::Tint::bold, "SIZE"),
                              tinted(cli::Tint::bold, "CREATED")}};
  for (const Image& image : all) {
    rows.push_back({short_name(image.name), id_of(image), std::to_string(image.layers.size()), size_text(image.size),
                    image.created.empty() ? "-" : image.created.substr(0, 10)});
  }
  cli::print_table(rows);
}

int run(Arguments&, LsOptions& options) {
  const auto store = open_store();
  if (!store) return report(store.error());
  const auto all = store->list();
  if (!all) return report(all.error());
  if (options.json) {
    std::string text;
    for (const Image& image : *all) text += (text.empty() ? "[" : ",\n ") + json_of(image);
    print(text.empty() ? "[]\n" : text + "]\n");
  } else if (options.names) {
    for (const Image& image : *all) print(short_name(image.name) + "\n");
  } else {
    show_table(*all);
  }
  return 0;
}

}  // namespace

const Command kLs{
    .name = "image ls",
    .usage = "[--json] [--names]",
    .summary = "List the images",
    .examples = "  cove image ls\n  cove image ls --json | jq -r '.[].name'",
    .run = run_with<LsOptions>,
    .describe = describe_with<LsOptions>,
};

}  // namespace cove::image
