#include "terminal/answers.h"

#include <nlohmann/json.hpp>

#include "terminal/bounded.h"

namespace cove::terminal {
namespace {

Answer not_run(const std::string& message, const char* status) {
  return {{"output", ""}, {"exit_code", -1}, {"error", message}, {"status", status}};
}

const char* retry_hint(Errc code) {
  switch (code) {
    case Errc::busy: return "the place is full or paused: try again in a moment";
    case Errc::timeout: return "it took too long; the next call begins anew";
    case Errc::disconnected:
      return "the sandbox is gone; the next call makes a new one. The command is not run again by itself: look first "
             "whether it did something";
    default: return "the next call begins anew; 'cove doctor' says what is missing";
  }
}

}  // namespace

Answer error_answer(const std::string& message) { return not_run(message, "error"); }
Answer blocked_answer(const std::string& message) { return not_run(message, "blocked"); }

Answer failed_answer(const Error& error, const Settings& settings) {
  if (error.code == Errc::cancelled) {
    Answer answer = not_run("", "error");
    answer["output"] = "[Command interrupted]";
    answer["exit_code"] = 130;
    answer["error"] = error.message;
    return answer;
  }
  if (error.code == Errc::invalid || error.code == Errc::conflict || settings.fail_when_degraded)
    return not_run(error.message, "error");
  if (error.code == Errc::unsupported || error.code == Errc::not_found) return not_run(error.message, "disabled");
  Answer answer = not_run(error.message, "degraded");
  answer["reason"] = std::string(name(error.code));
  answer["retry_hint"] = retry_hint(error.code);
  return answer;
}

Answer finished_answer(const Outcome& outcome, const Output::Rendered& output) {
  Answer answer{{"output", output.text}, {"exit_code", outcome.exit_code}, {"error", nullptr}};
  if (outcome.ending == Ending::lost) {
    answer["error"] = "the command is lost: " + outcome.detail + "; it is not run again by itself";
    answer["status"] = "degraded";
  }
  if (output.truncated) {
    answer["output_total_chars"] = output.total_chars;
    if (!output.full_path.empty()) answer["full_output_path"] = output.full_path;
    answer["truncation_note"] =
        output.full_path.empty()
            ? "the output was longer than a result may be; its head and tail are here"
            : "the output was longer than a result may be; the whole of it is in " + output.full_path;
  }
  if (outcome.ending == Ending::oom && !outcome.detail.empty()) answer["exit_code_meaning"] = outcome.detail;
  if (!outcome.hint.empty()) answer["hint"] = outcome.hint;
  return answer;
}

}  // namespace cove::terminal
