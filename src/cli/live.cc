#include "cli/live.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/print.h"

namespace cove::cli {
namespace {

constexpr std::size_t kKeptBytes = std::size_t{64} << 20;
constexpr int kBrokenPipe = 141;

void field(std::string& out, std::string_view key, std::string_view value) {
  out += out.size() > 1 ? ", \"" : "\"";
  out += key;
  out += "\": ";
  out += value;
}

std::string output_text(const JsonResult& result) {
  std::string bytes = result.output.bytes;
  const std::string added = notice(result.outcome, result.timeout);
  if (!added.empty()) bytes += (bytes.empty() ? "" : "\n") + added;
  return json_quote(bytes);
}

}  // namespace

void LiveOutput::write(Stream stream, std::string_view bytes) {
  if (broken_ || bytes.empty()) return;
  if (write_all(stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO, bytes)) {
    last_ = bytes.back();
    return;
  }
  broken_ = true;
  if (control_ != nullptr) control_->interrupt();
}

bool same_output() {
  struct stat out{}, err{};
  if (fstat(STDOUT_FILENO, &out) < 0 || fstat(STDERR_FILENO, &err) < 0) return false;
  return out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

void Kept::add(std::string_view more) {
  const std::size_t room = kKeptBytes - bytes.size();
  cut = cut || more.size() > room;
  bytes += more.substr(0, room);
}

std::string notice(const Outcome& outcome, std::chrono::milliseconds timeout) {
  if (outcome.ending == Ending::interrupted) return "[Command interrupted]";
  if (outcome.ending != Ending::timeout) return "";
  // Without a timeout of the call's own the sandbox's was it, in whole seconds as far as the clock tells.
  if (timeout.count() == 0) timeout = std::chrono::seconds(outcome.duration_us / 1'000'000);
  return "[Command timed out after " + seconds_text(timeout) + "]";
}

int exit_code_of(const Outcome& outcome) {
  switch (outcome.ending) {
    case Ending::exited: return outcome.exit_code;
    case Ending::signaled: return outcome.signal != 0 ? 128 + outcome.signal : outcome.exit_code;
    case Ending::timeout: return 124;
    case Ending::interrupted: return 130;
    case Ending::oom: return 137;
    case Ending::running:
    case Ending::lost: break;
  }
  return kOwnError;
}

int finish(const Outcome& outcome, std::chrono::milliseconds timeout, const LiveOutput& output) {
  if (output.broken()) return kBrokenPipe;
  if (const std::string text = notice(outcome, timeout); !text.empty()) {
    write_all(STDERR_FILENO, (output.at_line_start() ? "" : "\n") + text + "\n");
  }
  if (!outcome.error_text.empty()) complain(outcome.error_text);
  if (!outcome.hint.empty()) complain("hint: " + outcome.hint);
  if (outcome.ending == Ending::oom) complain("the command ran out of memory: " + outcome.detail);
  if (outcome.ending == Ending::lost) {
    complain("command " + outcome.id + " is lost" + (outcome.detail.empty() ? "" : ": " + outcome.detail));
  }
  return exit_code_of(outcome);
}

std::string_view ending_name(Ending ending) {
  constexpr std::string_view kNames[] = {"running", "exited", "signaled", "timeout", "interrupted", "oom", "lost"};
  return kNames[static_cast<std::size_t>(ending)];
}

std::string to_json(const JsonResult& result) {
  const Outcome& outcome = result.outcome;
  const bool running = outcome.ending == Ending::running;
  std::string out = "{";
  field(out, "output", output_text(result));
  field(out, "exit_code", running ? "null" : std::to_string(exit_code_of(outcome)));
  field(out, "outcome", json_quote(ending_name(outcome.ending)));
  field(out, "signal", outcome.signal == 0 ? "null" : std::to_string(outcome.signal));
  field(out, "cwd", json_quote(outcome.cwd));
  field(out, "duration_ms", std::to_string((outcome.duration_us + 500) / 1000));
  field(out, "output_bytes", std::to_string(outcome.output_bytes));
  field(out, "truncated", outcome.truncated || result.output.cut ? "true" : "false");
  field(out, "id", json_quote(outcome.id));
  const std::string& detail = outcome.error_text.empty() ? outcome.detail : outcome.error_text;
  if (!detail.empty()) field(out, "detail", json_quote(detail));
  if (!outcome.hint.empty()) field(out, "hint", json_quote(outcome.hint));
  if (result.existed) field(out, "existed", "true");
  return out + "}\n";
}

}  // namespace cove::cli
