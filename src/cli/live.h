#pragma once

// What `run`, `sh`, `exec`, `attach` and `logs` share: a command's output on our streams, its outcome as our exit code.

#include <optional>
#include <string>

#include "client/cove.h"

namespace cove::cli {

// Bytes to stdout and stderr as they come. When nobody reads any more the command is interrupted.
class LiveOutput {
 public:
  explicit LiveOutput(Control* control) : control_(control) {}
  void write(Stream stream, std::string_view bytes);
  bool broken() const { return broken_; }
  bool at_line_start() const { return last_ == '\n'; }

 private:
  Control* control_;
  bool broken_ = false;
  char last_ = '\n';
};

// Whether stdout and stderr go to the same place: then one pipe keeps the true order, otherwise two keep them apart.
bool same_output();

// Output in memory for --json, up to what a log keeps.
struct Kept {
  std::string bytes;
  bool cut = false;
  void add(std::string_view more);
};

// "[Command timed out after 1s]", "[Command interrupted]", or "".
std::string notice(const Outcome& outcome, std::chrono::milliseconds timeout);

// Says on stderr what the exit code alone does not, and gives the exit code.
int finish(const Outcome& outcome, std::chrono::milliseconds timeout, const LiveOutput& output);

// One JSON object with a newline.
struct JsonResult {
  Outcome outcome;
  Kept output;
  std::chrono::milliseconds timeout{0};
  bool existed = false;
};
std::string to_json(const JsonResult& result);
int exit_code_of(const Outcome& outcome);
std::string_view ending_name(Ending ending);

}  // namespace cove::cli
