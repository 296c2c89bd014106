#pragma once

#include <string>

namespace cove {

// All that a process hands to a program that it starts, as a text to compare: environment, user and rights, limits,
// namespaces, control groups; and which program a keeper would be.
std::string surroundings();

}  // namespace cove
