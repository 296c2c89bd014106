#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// What every target defines. It returns 0 for any bytes; a broken promise is an abort.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace cove::fuzz {

// Unlike assert it also holds in release builds.
inline void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace cove::fuzz
