#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace cove {

// Every backend, strongest first.
std::vector<Backend*> all_backends();

// By name; not_found names those there are. A named backend is never replaced by another one.
Result<Backend*> find_backend(std::string_view name);

// What `auto` means here and now.
struct Choice {
  Backend* backend = nullptr;
  std::vector<std::string> rejected;  // "native: WHY NOT", in the order they were asked
};
Result<Choice> choose_backend(Deadline deadline);

}  // namespace cove
