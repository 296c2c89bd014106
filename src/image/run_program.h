#pragma once

// A program of the user's that says something on stdout: credential helpers, engines.

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "os/child.h"

namespace cove::image {

struct ProgramSpec {
  std::vector<std::string> argv;
  std::string input;  // given on stdin
  Deadline deadline = Deadline::never();
};

struct ProgramEnd {
  os::ExitStatus status;
  std::string err;  // the last line that it wrote on stderr
};

// Runs it with our environment; `read` gets the reading end of its stdout. A request to stop and the deadline kill it,
// which `read` sees as an end. not_found if there is no such program. Errors of `read` are the caller's to keep.
Result<ProgramEnd> run_program(const ProgramSpec& spec, const std::stop_token& stop,
                               const std::function<void(int fd)>& read);

// All that can be read, at most so much.
std::string read_some(int fd, std::size_t most_bytes);

}  // namespace cove::image
