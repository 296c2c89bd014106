#include "client/json.h"
#include "client/pool.h"

namespace cove {

using proto::ClientType;

Result<Outcome> Sandbox::status(const std::string& id, const Call& call) {
  COVE_TRY(const std::string reply,
           ask(ClientType::status, proto::encode(proto::CommandRef{.id = id}), ClientType::json, call));
  COVE_TRY(const auto json, proto::decode<proto::Text>(reply));
  return parse_outcome(json.text);
}

Result<std::vector<Outcome>> Sandbox::commands(const Call& call) {
  COVE_TRY(const std::string reply, ask(ClientType::list, {}, ClientType::json, call));
  COVE_TRY(const auto json, proto::decode<proto::Text>(reply));
  return parse_outcomes(json.text);
}

Result<std::string> Sandbox::inspect(const Call& call) {
  COVE_TRY(const std::string reply, ask(ClientType::inspect, {}, ClientType::json, call));
  COVE_TRY(auto json, proto::decode<proto::Text>(reply));
  return std::move(json.text);
}

Result<void> Sandbox::signal(const std::string& id, proto::Signal signal, const Call& call) {
  COVE_CHECK(ask(ClientType::signal_command, proto::encode(proto::SignalCommand{.id = id, .signal = signal}),
                 ClientType::done, call));
  return {};
}

// A keeper that ends without the last word has done what was asked, if its record says that it does not run.
Result<void> Sandbox::stop(proto::StopRequest request, const Call& call) {
  auto done = ask(ClientType::stop, proto::encode(request), ClientType::done, call);
  lifetime_.reset();
  const std::lock_guard guard(pool_->mutex);
  pool_->idle.clear();
  if (done || done.error().code == Errc::disconnected) return {};
  return fail(std::move(done).error());
}

Result<void> Sandbox::remove(const std::string& name, const Call& call) {
  COVE_TRY(auto record, record::Record::open(name));
  COVE_TRY(const auto info, record.info());
  if (info.life != record::Life::running) return record.remove();
  COVE_TRY(Sandbox sandbox, open(name));
  COVE_CHECK(sandbox.stop({.remove = true}, call));
  // A keeper that was killed while it stopped leaves the directory behind.
  if (auto left = record::Record::open(name)) {
    COVE_TRY(const auto state, left->info());
    if (state.life != record::Life::running) return left->remove();
  }
  return {};
}

}  // namespace cove
