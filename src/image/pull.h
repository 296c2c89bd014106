#pragma once

// Brings an image into the store, from a registry or from an engine on this machine.
//
// Guarantees: an image is visible under its name only when all of its layers are there, each with the digest that the
// manifest and the config say; layers that are there are not fetched again, and an image that has not changed costs one
// request; a cut, also of this process, costs what had not yet come; two processes that pull the same layers share the
// work.

#include <optional>
#include <stop_token>

#include "image/image.h"
#include "image/oci.h"
#include "image/progress.h"
#include "image/reference.h"
#include "image/store.h"
#include "image/url.h"

namespace cove::image {

struct PullOptions {
  std::optional<Platform> platform;  // this machine's, if none is given
  PlainHosts plain;
  std::size_t parallel = 4;  // downloads at a time
};

Result<Image> pull(Store& store, const Reference& reference, const PullOptions& options, Progress& progress,
                   const std::stop_token& stop);

// By `docker save` or `podman save`: that is where the daemon's rights and settings (DOCKER_HOST, rootless storage) are
// understood.
Result<Image> pull_from_engine(Store& store, const Reference& reference, Progress& progress,
                               const std::stop_token& stop);

}  // namespace cove::image
