#pragma once

#include <stop_token>
#include <utility>

#include "image/store.h"
#include "record/snapshots.h"

namespace cove::image {

// A snapshot of a container is an image of its engine. While this lives it is one of the store, too, and can be
// exported as any other.
class EngineSnapshot {
 public:
  static Result<EngineSnapshot> take(Store& store, const record::Snapshot& snapshot, const std::stop_token& stop);
  EngineSnapshot(EngineSnapshot&& other) noexcept
      : store_(std::exchange(other.store_, nullptr)), as_native_(std::move(other.as_native_)) {}
  EngineSnapshot& operator=(EngineSnapshot&&) = delete;
  ~EngineSnapshot();  // the store forgets its name

  // As if a native sandbox had been made of that image.
  const record::Snapshot& as_native() const { return as_native_; }

 private:
  EngineSnapshot(Store& store, record::Snapshot as_native) : store_(&store), as_native_(std::move(as_native)) {}

  Store* store_;
  record::Snapshot as_native_;
};

}  // namespace cove::image
