#pragma once

// Orders to a QEMU: one JSON object per line, answered in turn. What it says is not believed to be well-formed.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::microvm {

class Qmp {
 public:
  Qmp() = default;
  explicit Qmp(UniqueFd socket) : socket_(std::move(socket)) {}

  // What the order gives. disconnected: QEMU is gone; internal: it refuses, in its own words. The first call waits for
  // its greeting. `fd`: handed over with the order, -1: none.
  Result<nlohmann::json> order(const std::string& name, const nlohmann::json& arguments, Deadline deadline,
                               int fd = -1);

 private:
  Result<void> greet(Deadline deadline);
  Result<nlohmann::json> exchange(const std::string& name, const nlohmann::json& arguments, Deadline deadline, int fd);
  Result<nlohmann::json> read_line(Deadline deadline);

  UniqueFd socket_;
  std::string heard_;
  bool greeted_ = false;
};

}  // namespace cove::microvm
