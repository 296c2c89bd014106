#pragma once

#include <array>

#include "spec/option.h"

namespace cove::engine {

inline constexpr BackendOption kProgramOption{"engine", "PATH",
                                              "The engine's program, for docker, podman and apptainer"};
inline constexpr std::array kOptions{
    kProgramOption,
    BackendOption{"runtime", "NAME", "What docker runs containers with, as runsc"},
};

}  // namespace cove::engine
