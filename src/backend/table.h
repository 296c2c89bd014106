#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/traits.h"

namespace cove {

// Every backend, in the order of kBackends.
std::vector<Backend*> all_backends();

// By name; not_found names those there are. A named backend is never replaced by another one.
Result<Backend*> find_backend(std::string_view name);

// What a caller can require of `auto`; each is also a capability of a probe.
inline constexpr std::array<std::string_view, 5> kRequirements{"fs-read", "fs-write", "net", "pid", "memory"};

// What `auto` means here and now: the strongest backend that it may choose (Traits::not_auto), that can be used, and
// that promises all that is required.
struct Choice {
  Backend* backend = nullptr;
  std::vector<std::string> rejected;  // "native: WHY NOT", strongest first; empty if the first choice could be taken
};
Result<Choice> choose_backend(const std::vector<std::string>& required, Deadline deadline);

}  // namespace cove
