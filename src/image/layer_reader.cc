#include "image/layer_reader.h"

#include <fcntl.h>

#include "image/digest.h"
#include "image/layer_unpack.h"
#include "os/remove_tree.h"

namespace cove::image {
namespace {

Result<Layer> unpack_aside(const std::string& aside, LayerSource& source, const AddLayer& how) {
  const UniqueFd tree(open((aside + "/tree").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!tree) return fail_errno("open " + aside + "/tree");
  COVE_TRY(Unpacked unpacked, unpack_layer(tree.get(), source, how.limits, how.progress));
  if (how.expected_diff_id && *how.expected_diff_id != unpacked.diff_id)
    return fail(Errc::protocol,
                "its content is that of " + unpacked.diff_id + ": it was damaged or changed on its way");
  return Layer{.diff_id = std::move(unpacked.diff_id),
               .size = unpacked.file_bytes,
               .entries = unpacked.entries,
               .media_type = std::move(unpacked.media_type)};
}

// Whatever goes wrong, nothing stays.
Result<Layer> unpack_and_publish(Store& store, LayerSource& source, const AddLayer& how) {
  COVE_TRY(const std::string aside, store.make_aside());
  auto layer = unpack_aside(aside, source, how);
  if (layer) {
    if (auto published = store.publish(aside, *layer); !published) layer = fail(std::move(published).error());
  }
  if (!layer) (void)os::remove_tree(aside);
  return layer;
}

}  // namespace

Result<Layer> add_layer(Store& store, LayerSource& source, const AddLayer& how) {
  COVE_TRY(const UniqueFd held, store.hold());
  UniqueFd alone;
  if (how.expected_diff_id) {
    COVE_TRY(alone, store.lock_layer(*how.expected_diff_id));
    if (store.has_layer(*how.expected_diff_id)) return store.layer(*how.expected_diff_id);
  }
  auto layer = unpack_and_publish(store, source, how);
  if (layer) return layer;
  return fail(std::move(layer).error().because("unpack layer " + how.expected_diff_id.value_or("without a digest")));
}

}  // namespace cove::image
