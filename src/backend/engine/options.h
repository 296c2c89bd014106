#pragma once

#include <array>

#include "spec/option.h"

namespace cove::engine {

inline constexpr BackendOption kProgramOption{"engine", "PATH",
                                              "Set the engine's program, for docker, podman and apptainer"};
inline constexpr std::array kOptions{
    kProgramOption,
    BackendOption{"runtime", "NAME", "Set the runtime of docker containers, such as runsc"},
};

}  // namespace cove::engine
