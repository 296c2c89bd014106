#include <ctime>

#include "image/snapshot.h"
#include "image/snapshot_state.h"

namespace cove::image {
namespace {

Result<void> check_free(const Store& store, const std::string& name, const std::string& tag) {
  if (tag.starts_with('.')) return fail(Errc::invalid, "a snapshot's tag begins with a letter or digit");
  COVE_CHECK(record::check_tag(tag));
  if (record::find_snapshot(tag))
    return fail(Errc::conflict, "there is a snapshot " + tag + "; 'cove snapshot rm " + tag + "' frees the name");
  COVE_TRY(const auto image, store.find(name));
  if (!image) return {};
  COVE_TRY(const auto users, record::images_in_use());
  const auto user = users.find(name);
  if (user == users.end()) return {};
  return fail(Errc::conflict, "what an earlier snapshot " + tag + " brought is still used by " + user->second +
                                  ": import this one under another tag");
}

Result<void> check_directory(const std::string& cwd) {
  if (cwd.empty() || (cwd.starts_with('/') && cwd.find('\0') == std::string::npos && cwd.size() < 4096)) return {};
  return fail(Errc::invalid, "the archive's working directory is no absolute path");
}

// The labels' work is done: the record has what they said.
Result<void> put_without_labels(Store& store, Image image) {
  image.config.labels = without_ours(image.config.labels);
  return store.put(image);
}

}  // namespace

Result<record::Snapshot> import_snapshot(Store& store, int fd, const std::string& tag) {
  const std::string name = std::string(kSnapshotNames) + tag;
  COVE_CHECK(check_free(store, name, tag));
  COVE_TRY(const UniqueFd held, store.hold());  // until the record names the image
  record::Snapshot snapshot{.tag = tag, .sandbox = "", .backend = "native", .image = name, .cwd = ""};
  LoadSpec how;
  how.name = name;
  how.check = [&](const ImageConfig& config) -> Result<void> {
    COVE_CHECK(check_directory(config.cwd));
    snapshot.cwd = config.cwd;
    return read_labels(config.labels, snapshot);
  };
  COVE_TRY(const auto images, load_archive(store, fd, how));
  snapshot.created_unix = std::time(nullptr);
  COVE_CHECK(put_without_labels(store, images.front()));
  auto saved = record::save_snapshot(snapshot);
  if (saved) return snapshot;
  [[maybe_unused]] const auto removed = store.remove(name);
  return fail(std::move(saved).error());
}

}  // namespace cove::image
