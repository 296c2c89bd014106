#pragma once

#include <string>
#include <vector>

namespace cove::cli {

// Becomes another program of ours (backend/guest_path.h says where it is) with these words; the exit code if it cannot.
// Another program, because it needs libraries that every other command would pay for when it starts.
int become_program(const std::string& name, const std::string& variable, std::vector<std::string> words);
int become_image_program(std::vector<std::string> words);

}  // namespace cove::cli
