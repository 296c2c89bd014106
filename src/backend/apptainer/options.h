#pragma once

#include <array>

#include "backend/engine/options.h"

namespace cove::apptainer {

inline constexpr std::array kOptions{engine::kProgramOption};

}  // namespace cove::apptainer
