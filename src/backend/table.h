#pragma once

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

// What `auto` means here and now: the strongest backend that it may choose (Traits::not_auto), that can be used, and
// that promises all that is required.
struct Choice {
  Backend* backend = nullptr;
  std::vector<std::string> rejected;  // "native: WHY NOT", strongest first; empty if the first choice could be taken
};
// `require`: spellings of kRequirements.
Result<Choice> choose_backend(const std::vector<std::string>& require, Deadline deadline);

}  // namespace cove
