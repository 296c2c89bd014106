#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "os/child.h"
#include "process.h"

namespace cove::testing_helpers {

struct Done {
  int code = -1;
  std::string out, err;
};

// Runs `cove ARGS...` with our environment plus `env` (K=V) to its end; killed after five minutes.
Done run_cove(const std::vector<std::string>& args, const std::vector<std::string>& env = {});
// Our environment with these K=V on top.
std::vector<std::string> environment_with(const std::vector<std::string>& env);

// A program with its stdout and stderr on one pipe that we read.
struct Running {
  os::Child child;
  UniqueFd output;
  // Reads until `text` has been seen; false if the output ends or the time is over before.
  bool says(const std::string& text, std::chrono::milliseconds within = kPatience);
  // Reads to the end of its output and waits for it; its exit code, -1 if it does not end in time.
  int finish();
  std::string heard;
};
Result<Running> start_program(const std::vector<std::string>& argv, const std::vector<std::string>& env = {});

}  // namespace cove::testing_helpers
