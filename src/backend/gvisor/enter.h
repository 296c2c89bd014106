#pragma once

// From clone to exec of runsc: the native sandbox's first steps, and then another program than the guest.

#include <string>
#include <vector>

#include "backend/native/enter.h"
#include "backend/native/program.h"

namespace cove::gvisor {

struct RunscPlan : native::ProgramPlan {  // the log becomes kLogFd
  std::string config;
  std::vector<std::string> line;
  int image = -1;       // a directory with a checkpoint, opened by the keeper; becomes kImageFd; -1: none
  bool probes = false;  // no root and no bundle: the line runs by itself
};

inline constexpr int kLogFd = 3, kImageFd = 4;

// In the child, in new user, mount, pid, ipc, uts and perhaps network namespaces.
std::span<const native::Step> steps_of(const RunscPlan& plan);
Error explain(const native::StepFailure& failure, const RunscPlan& plan);

}  // namespace cove::gvisor
