#include "image/cli/commands.h"
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

}  // namespace cove::image
