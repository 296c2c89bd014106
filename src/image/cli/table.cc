#include "base/json_text.h"
#include "image/cli/commands.h"
#include "image/digest.h"
#include "image/json_fields.h"
#include "image/name.h"
#include "record/record.h"

namespace cove::image {

std::span<const Command> image_commands() {
  static const Command all[] = {kPull, kLoad, kImport, kSave, kLs, kInspect, kRm, kPrune};
  return all;
}

std::span<const Command> snapshot_commands() {
  static const Command all[] = {kSnapshotExport, kSnapshotImport};
  return all;
}

Result<Store> open_store() {
  COVE_TRY(const std::string home, record::home());
  return Store::open(home);
}

Result<Image> find_image(const Store& store, const std::string& name) {
  COVE_TRY(auto image, store.find(name));
  if (image) return std::move(*image);
  return fail(Errc::not_found, "there is no image '" + name + "': 'cove image ls' lists them");
}

std::string json_of(const Image& image) {
  Json json = Json::parse(to_json(image));
  json["short_name"] = short_name(image.name);
  return json_text(json);
}

}  // namespace cove::image
