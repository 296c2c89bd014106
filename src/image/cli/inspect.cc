#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "image/cli/commands.h"
#include "image/json_fields.h"
#include "image/name.h"

namespace cove::image {
namespace {

struct InspectOptions {
  std::string name;
};

void define(Arguments& arguments, InspectOptions& options) {
  arguments.positional("NAME", options.name, Need::required, "The image, by options.name or by 12 digits of its id");
}

Result<std::string> inspect(const std::string& name) {
  COVE_TRY(const Store store, open_store());
  COVE_TRY(const Image image, find_image(store, name));
  Json json = Json::parse(json_of(image));
  for (Json& layer : json["layers"]) {
    const auto diff_id = layer.get<std::string>();
    const auto known = store.layer(diff_id);
    layer = {{"diff_id", diff_id}, {"here", store.has_layer(diff_id)}};
    if (!known) continue;
    layer["size"] = known->size;
    layer["entries"] = known->entries;
    layer["path"] = store.layer_path(diff_id);
  }
  return json_text(json, 2) + "\n";
}

int run(Arguments&, InspectOptions& options) {
  const auto text = inspect(options.name);
  if (!text) return report(text.error());
  print(*text);
  return 0;
}

}  // namespace

std::string json_of(const Image& image) {
  Json json = Json::parse(to_json(image));
  json["short_name"] = short_name(image.name);
  return json_text(json);
}

const Command kInspect{
    .name = "image inspect",
    .usage = "NAME",
    .summary = "Show an image's config and layers as JSON",
    .examples = "  cove image inspect mine:1 | jq .config.exposed_ports",
    .run = run_with<InspectOptions>,
    .describe = describe_with<InspectOptions>,
};

}  // namespace cove::image
