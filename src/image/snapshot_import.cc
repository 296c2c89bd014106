#include <ctime>

#include "image/snapshot.h"
#include "image/snapshot_state.h"

namespace cove::image {
namespace {

Result<void> check_free(const std::string& tag) {
  if (tag.starts_with('.')) return fail(Errc::invalid, "a snapshot's tag begins with a letter or digit");
  COVE_CHECK(record::check_tag(tag));
  if (!record::find_snapshot(tag)) return {};
  return fail(Errc::conflict, "there is a snapshot " + tag + "; 'cove snapshot rm " + tag + "' frees the name");
}

Result<void> read_config(const ImageConfig& config, record::Snapshot& snapshot) {
  const auto has_zero = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  snapshot.cwd = config.cwd;
  if (!config.cwd.empty() && (!config.cwd.starts_with('/') || has_zero(config.cwd) || config.cwd.size() > 4095))
    return fail(Errc::invalid, "the archive's working directory is no absolute path");
  snapshot.user = config.user.substr(0, config.user.find(':'));
  if (snapshot.user.size() > 255 || has_zero(snapshot.user)) return fail(Errc::invalid, "the archive's user is none");
  return read_labels(config.labels, snapshot);
}

// The labels' work is done: the record has what they said.
Result<void> put_without_labels(Store& store, Image image) {
  image.config.labels = without_ours(image.config.labels);
  return store.put(image);
}

}  // namespace

Result<record::Snapshot> import_snapshot(Store& store, int fd, const std::string& tag) {
  const std::string name = std::string(kSnapshotNames) + tag;
  COVE_CHECK(check_free(tag));
  COVE_TRY(const UniqueFd held, store.hold());  // until the record names the image
  record::Snapshot snapshot{.tag = tag, .sandbox = "", .backend = "native", .image = name, .cwd = ""};
  LoadSpec how;
  how.name = name;
  how.check = [&](const ImageConfig& config) { return read_config(config, snapshot); };
  COVE_TRY(const auto images, load_archive(store, fd, how));
  snapshot.image_layers = images.front().layers;
  snapshot.created_unix = std::time(nullptr);
  COVE_CHECK(put_without_labels(store, images.front()));
  auto saved = record::save_snapshot(snapshot);
  if (saved) return snapshot;
  [[maybe_unused]] const auto removed = store.remove(name);
  return fail(std::move(saved).error());
}

}  // namespace cove::image
