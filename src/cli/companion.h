#pragma once

#include <string>
#include <vector>

namespace cove::cli {

// Becomes cove-image with these words; the exit code if it cannot. Another program, because it needs libraries that
// every other command would pay for when it starts.
int become_image_program(std::vector<std::string> words);

}  // namespace cove::cli
