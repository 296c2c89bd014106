#include "cli/earlier.h"

#include "cli/command.h"
#include "cli/live.h"
#include "cli/print.h"
#include "record/record.h"

namespace cove::cli {
namespace {

int tell(const EarlierQuery& query, JsonResult result, const LiveOutput& output) {
  result.existed = true;
  if (query.json) {
    print(to_json(result));
    return result.outcome.ending == Ending::running ? 0 : exit_code_of(result.outcome);
  }
  if (result.outcome.ending != Ending::running) return finish(result.outcome, result.timeout, output);
  complain("command " + query.id + " is still running: 'cove attach " + query.name + " " + query.id + "' follows it");
  return kOwnError;
}

}  // namespace

std::optional<int> report_earlier(Sandbox& sandbox, const EarlierQuery& query) {
  auto status = sandbox.status(query.id);
  if (!status && status.error().code == Errc::not_found) return std::nullopt;
  if (!status) return report(status.error());
  if (query.background && !query.json) {
    print(query.id + "\n");
    return 0;
  }
  JsonResult result;
  LiveOutput output(nullptr);
  if (status->ending != Ending::running) {
    CommandIo io;
    io.output = [&](Stream stream, std::string_view bytes) {
      if (query.json)
        result.output.add(bytes);
      else
        output.write(stream, bytes);
    };
    auto replayed = sandbox.attach({.id = query.id, .from = 0, .follow = false}, io);
    if (!replayed) return report(replayed.error());
    result.outcome = std::move(*replayed);
  } else {
    result.outcome = std::move(*status);
  }
  return tell(query, std::move(result), output);
}

int report_dead(const EarlierQuery& query, const Error& error) {
  if (query.id.empty() || error.code == Errc::not_found) return report(error);
  const auto opened = record::Record::open(query.name);
  if (!opened) return report(error);
  const auto journal = opened->journal();
  if (!journal) return report(error);
  for (const Outcome& outcome : *journal) {
    if (outcome.id != query.id) continue;
    JsonResult result;
    result.outcome = outcome;
    // A dead sandbox runs nothing, whatever its last line says.
    if (result.outcome.ending == Ending::running) result.outcome.ending = Ending::lost;
    if (result.outcome.ending == Ending::lost && result.outcome.detail.empty()) result.outcome.detail = error.message;
    return tell(query, std::move(result), LiveOutput(nullptr));
  }
  return report(Error{error.code, error.message + "; command " + query.id + " was never started"});
}

}  // namespace cove::cli
