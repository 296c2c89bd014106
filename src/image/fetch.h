#pragma once

// One blob from a registry into downloads/<hex>.part.

#include <functional>
#include <stop_token>

#include "base/unique_fd.h"
#include "image/registry.h"
#include "image/store.h"

namespace cove::image {

struct FetchSpec {
  std::string path;  // of the .part; kept after a cut, and what it holds is asked for no second time
  Descriptor blob;
  std::function<void(std::uint64_t bytes)> at;        // so many are there
  std::function<void(const std::string& text)> note;  // "cut at 3 MiB, again in 1 s"
};

// The whole blob, its digest verified, open at its beginning. A cut is tried again three times within one call, with
// growing pauses; what has come stays in the file for a later one. Bytes that are not those of the digest are removed.
// The caller holds the blob's lock.
Result<UniqueFd> fetch_blob(Registry& registry, const FetchSpec& spec, const std::stop_token& stop);

// "3.2 MiB", "17 B"
std::string human_bytes(std::uint64_t bytes);

}  // namespace cove::image
