#include "image/cli/commands.h"
#include "image/name.h"
#include "record/snapshots.h"

namespace cove::image {
namespace {

struct RmOptions {
  std::vector<std::string> names;
  bool force = false;
};

void define(Arguments& arguments, RmOptions& options) {
  arguments.flag("-f,--force", options.force, "Also what sandboxes or snapshots use; what is not there is no error");
  arguments.positionals("NAME", options.names, "The images, by name or by 12 digits of their id");
}

// Whoever was made from it goes on without the name, but nobody else finds out what that was.
Result<void> check_unused(const Image& image) {
  COVE_TRY(const auto used, record::images_in_use());
  for (const record::ImageUse& one : used) {
    if (one.image != image.name || one.layers != image.layers) continue;
    return fail(Errc::conflict,
                "image " + short_name(image.name) + " is used by " + one.who +
                    ": remove that first, or take the name away with --force (the layers stay as long)");
  }
  return {};
}

// A damaged one is still removed by its name.
Result<void> remove(Store& store, const std::string& name, const RmOptions& options) {
  const auto image = store.find(name);
  if (image && *image && !options.force) COVE_CHECK(check_unused(**image));
  return store.remove(image && *image ? (*image)->name : name);
}

int run(Arguments&, RmOptions& options) {
  auto store = open_store();
  if (!store) return report(store.error());
  int code = 0;
  for (const std::string& name : options.names) {
    const auto done = remove(*store, name, options);
    if (done || (options.force && done.error().code == Errc::not_found)) continue;
    code = report(done.error());
  }
  return code;
}

}  // namespace

const Command kRm{
    .name = "image rm",
    .usage = "NAME... [--force]",
    .summary = "Forget images; 'cove image prune' then frees the space",
    .examples = "  cove image rm mine:1\n  cove image rm 3f2a91c0b7de && cove image prune",
    .run = run_with<RmOptions>,
    .describe = describe_with<RmOptions>,
};

}  // namespace cove::image
