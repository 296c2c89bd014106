// How a Keeper ends: commands first, then sessions, then the place, then the record, and last the answers.

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "backend/table.h"
#include "base/log.h"
#include "keeper/json.h"
#include "keeper/keeper.h"

namespace cove::keeper {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kMaxGraceMs = 60'000;

}  // namespace

Result<void> Keeper::accepting() const {
  if (paused_ && phase_ == Phase::serving)
    return fail(Errc::busy,
                "sandbox " + record_.name() + " is paused: 'cove resume " + record_.name() + "' lets it go on");
  if (phase_ == Phase::serving) return {};
  return fail(Errc::disconnected, "sandbox " + record_.name() + " is going down: " + fate_.why);
}

std::string Keeper::inspect() {
  Inspection what;
  if (auto info = record_.info()) what.info = std::move(*info);
  what.guest = hello_;
  what.notes = place_->notes();
  what.proof = record_.proof().value_or("");
  for (const std::string& session : commands_.sessions()) {
    what.sessions.push_back(session.empty() ? "default" : session);
  }
  what.commands_running = commands_.running();
  what.commands_unfinished = commands_.unfinished();
  if (idle_since_) {
    what.idle_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *idle_since_).count());
  }
  return to_json(what);
}

void Keeper::stop(ClientSession& asking, const proto::StopRequest& request) {
  stop_waiters_.push_back(&asking);
  fate_.remove = fate_.remove || request.remove;
  begin_end({"it was stopped", true, request.remove}, std::min(request.grace_ms, kMaxGraceMs));
}

void Keeper::begin_end(Fate fate, std::uint32_t grace_ms) {
  if (phase_ != Phase::serving) return;
  fate.remove = fate.remove || fate_.remove;
  fate_ = std::move(fate);
  log_event("sandbox.ending", {{"sandbox", record_.name()}, {"why", fate_.why}});
  phase_ = Phase::ending;
  phase_deadline_ = Deadline::after(std::chrono::milliseconds(grace_ms) + 1s);
  commands_.each_running([&](Command& command) {
    commands_.end(command, proto::Ending::interrupted, "its sandbox was ended: " + fate_.why, grace_ms);
  });
}

void Keeper::advance() {
  if (phase_ == Phase::ending && (commands_.running() == 0 || phase_deadline_.passed())) {
    if (!spec_.persistent || fate_.remove) return finish();
    phase_ = Phase::saving;
    phase_deadline_ = Deadline::after(5s);
    if (!ended_.empty() && !asked_for_checkpoint_) layer_work_.push_back({});
    save_sessions();
    flush_guest();
  }
  if (phase_ == Phase::saving && (session_answers_due_ == 0 || phase_deadline_.passed())) finish();
}

void Keeper::save_sessions() {
  guest_.send(proto::GuestType::session_state, 0, proto::SessionState{});
  sessions_changed_ = false;
  ++session_answers_due_;
  sessions_asked_ = Clock::now();
}

void Keeper::finish() {
  phase_ = Phase::over;
  commands_.lose_all(fate_.why);
  flush_clients(Deadline::after(0ms));
  guest_.close();
  listener_.reset();
  // Nothing is read any more: a connection that waits for its next use says so before anybody hears that it is over.
  for (const auto& [token, session] : sessions_) {
    if (!session->busy() && !session->blocked()) shutdown(session->fd(), SHUT_RDWR);
  }
  // A guest that broke its word gets no time to end its commands; what it leaves is ended from outside.
  const auto destroyed = place_->destroy(Deadline::after(fate_.orderly ? 10s : 1s));
  if (!destroyed) log_event("place.not_destroyed", {{"error", destroyed.error().message}});
  if (destroyed && fate_.remove) forget_outside();
  const auto settled = settle_record();
  if (!spec_.layers.empty()) [[maybe_unused]]
    const auto cleared = record::clear_layers(spec_.layers);
  if (!spec_.layers.empty() && (!spec_.persistent || fate_.remove)) forget_outside();
  record_.release();  // or whoever hears that it is over may find it running still
  log_event("sandbox.ended", {{"sandbox", record_.name()}, {"why", fate_.why}});
  record::sweep();  // before the answers: who has them may remove the whole of COVE_HOME
  for (ClientSession* waiter : stop_waiters_) {
    if (!destroyed)
      waiter->answer_error(destroyed.error());
    else if (!settled)
      waiter->answer_error(settled.error());
    else
      waiter->answer_done();
  }
  flush_clients(Deadline::after(1s));
}

// What cannot be removed now is found by 'cove gc'.
void Keeper::forget_outside() {
  SandboxSpec spec = spec_;
  const auto home = record::home();
  const auto backend = find_backend(spec.backend);
  if (!home || !backend) return;
  spec.directory = *home + "/sandboxes/" + record_.name();
  if (const auto forgotten = (*backend)->forget(spec, Deadline::after(10s)); !forgotten)
    log_event("place.not_forgotten", {{"error", forgotten.error().message}});
}

Result<void> Keeper::settle_record() {
  if (fate_.remove || (spec_.owned && !spec_.persistent)) return record_.remove();
  if (spec_.persistent) return record_.write_status(record::Life::stopped, fate_.why);
  if (fate_.orderly) return record_.remove();
  return record_.write_status(record::Life::failed, fate_.why);
}

// Every client that has something to hear gets a chance to hear it; one that does not read is left behind.
void Keeper::flush_clients(Deadline deadline) {
  for (auto& [token, session] : sessions_) wants_pump(*session);
  pump_all();
  while (true) {
    std::vector<pollfd> waiting;
    std::vector<std::uint64_t> tokens;
    for (auto& [token, session] : sessions_) {
      if (!session->blocked()) continue;
      waiting.push_back({session->fd(), POLLOUT, 0});
      tokens.push_back(token);
    }
    if ((waiting.empty() && to_pump_.empty()) || deadline.passed()) return;
    if (!waiting.empty()) poll(waiting.data(), waiting.size(), to_pump_.empty() ? deadline.poll_timeout() : 0);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const auto found = sessions_.find(tokens[i]);
      if (waiting[i].revents != 0 && found != sessions_.end()) wants_pump(*found->second);
    }
    pump_all();
  }
}

void Keeper::abandon(const std::string& why) {
  if (phase_ == Phase::over) return;
  fate_ = {why, false, false};
  finish();
}

void Keeper::give_back(record::Record& record) {
  phase_ = Phase::over;
  guest_.close();
  if (const auto destroyed = place_->destroy(Deadline::after(2s)); !destroyed) {
    log_event("place.not_destroyed", {{"error", destroyed.error().message}});
  }
  record = std::move(record_);
}

}  // namespace cove::keeper
