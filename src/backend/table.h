#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace cove {

// Every backend, strongest first.
std::vector<Backend*> all_backends();

// By name; not_found names those there are. A named backend is never replaced by another one.
Result<Backend*> find_backend(std::string_view name);

// What a caller can require of `auto`; each is also a capability of a probe.
inline constexpr std::array<std::string_view, 5> kRequirements{"fs-read", "fs-write", "net", "pid", "memory"};

// What `auto` means here and now: the strongest backend that has walls at all and all that is required. Never `local`,
// which must be asked for by its name.
struct Choice {
  Backend* backend = nullptr;
  std::vector<std::string> rejected;  // "native: WHY NOT", in the order they were asked
};
Result<Choice> choose_backend(const std::vector<std::string>& required, Deadline deadline);

}  // namespace cove
