#include "image/cli/engine_snapshot.h"

#include <sys/stat.h>

#include "backend/engine/names.h"
#include "image/pull.h"

namespace cove::image {
namespace {

// What a commit says of how to run it is how we ran it; and our labels there are about a container that was.
Result<void> put_plainly(Store& store, Image& image) {
  COVE_TRY(const auto trees, store.lowers(image));
  struct stat info{};
  image.config.entrypoint.clear();
  image.config.cmd = {"/bin/sh"};
  for (const std::string& tree : trees) {
    for (const char* bash : {"/bin/bash", "/usr/bin/bash"}) {
      if (lstat((tree + bash).c_str(), &info) == 0) image.config.cmd = {"/bin/bash"};
    }
  }
  std::erase_if(image.config.labels, [](const auto& label) { return label.first.starts_with("cove."); });
  return store.put(image);
}

}  // namespace

Result<EngineSnapshot> EngineSnapshot::take(Store& store, const record::Snapshot& snapshot,
                                            const std::stop_token& stop) {
  if (snapshot.layers.empty())
    return fail(Errc::internal, "snapshot " + snapshot.tag + " names no image of its engine");
  const std::string transport = snapshot.backend == "docker" ? "docker-daemon:" : "containers-storage:";
  COVE_TRY(const Reference reference, parse_reference(transport + engine::layer_image(snapshot.layers.back())));
  const auto silent = make_no_progress();
  COVE_TRY(Image image, pull_from_engine(store, reference, *silent, stop));
  EngineSnapshot taken(store, snapshot);
  taken.as_native_.backend = "native";
  taken.as_native_.image = image.name;
  taken.as_native_.image_layers = image.layers;
  taken.as_native_.layers.clear();
  COVE_CHECK(put_plainly(store, image));
  return taken;
}

EngineSnapshot::~EngineSnapshot() {
  if (store_ != nullptr) [[maybe_unused]]
    const auto removed = store_->remove(as_native_.image);
}

}  // namespace cove::image
