#include "client/pool.h"

namespace cove {
namespace {

std::string what_the_journal_says(const record::Record& record, const std::string& id) {
  const auto journal = record.journal();
  if (!journal) return "";
  for (const Outcome& outcome : *journal) {
    if (outcome.id != id) continue;
    if (outcome.ending == Ending::running) return "; command " + id + " had been started";
    if (outcome.ending == Ending::lost) return "; command " + id + " had been started and is lost";
    return "; command " + id + " had ended with exit code " + std::to_string(outcome.exit_code);
  }
  return "; the journal does not know command " + id;
}

}  // namespace

// Turns a bare "closed" into what is known: why the sandbox ended and what became of the command.
Error Sandbox::explain(Error error, const std::string& id) const {
  if (error.code != Errc::disconnected) return error;
  pool_->record.await_release(Deadline::after(std::chrono::milliseconds(500)));
  const auto info = pool_->record.info();
  std::string text = "the keeper of sandbox '" + name_ + "' ended";
  if (info && !info->why.empty()) text += ": " + info->why;
  if (!id.empty()) text += what_the_journal_says(pool_->record, id);
  return Error{Errc::disconnected, std::move(text)};
}

}  // namespace cove
