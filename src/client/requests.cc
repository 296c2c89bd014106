#include <fcntl.h>
#include <unistd.h>

#include "client/json.h"
#include "client/launch.h"
#include "client/pool.h"
#include "record/record.h"
#include "record/snapshots.h"

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

Result<void> Sandbox::feed(const std::string& id, std::string_view bytes, Stdin which, const Call& call) {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  do {
    const std::string_view piece = bytes.substr(0, kMost);
    bytes.remove_prefix(piece.size());
    const proto::Feed more{.id = id, .bytes = std::string(piece), .eof = bytes.empty() && which == Stdin::last};
    COVE_CHECK(ask(ClientType::feed, proto::encode(more), ClientType::done, call));
  } while (!bytes.empty());
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

namespace {

// Of a sandbox that has no keeper to do so.
Result<void> remove_dead(record::Record& record, const record::Info& info) {
  if (faccessat(record.directory(), record::kKeptOutside, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    proto::LaunchRequest request{.restart = true, .spec = {}, .forget = true};
    request.spec.name = record.name();
    COVE_CHECK(start_keeper(request, {.deadline = Deadline::after(std::chrono::minutes(2)), .stop = {}}));
    return {};
  }
  COVE_CHECK(record.remove());
  if (!info.spec.layers.empty()) COVE_CHECK(record::clear_layers(info.spec.layers));
  return {};
}

}  // namespace

// One that is being started does not listen yet, and one that ends holds its lock for a moment: it is asked until it is
// gone, or is nobody's to end but ours. Always this one, whoever bears its name meanwhile.
Result<void> Sandbox::remove(const std::string& name, const Call& call) {
  const Deadline patience = earlier(call.deadline, Deadline::after(std::chrono::minutes(1)));
  COVE_TRY(auto opened, record::Record::open(name));
  Sandbox sandbox(std::make_unique<Pool>(std::move(opened)));
  record::Record& record = sandbox.pool_->record;
  for (bool asked = false;; asked = true) {
    const auto info = record.info();
    if (!info && asked && info.error().code == Errc::not_found) return {};
    if (!info) return fail(info.error());
    if (info->life != record::Life::running) return remove_dead(record, *info);
    if (call.stop.stop_requested()) return fail(Errc::cancelled, "the call was stopped");
    if (patience.passed())
      return fail(Errc::busy, "sandbox " + name + " is still being started or ended: try again later");
    const timespec pause{0, 1'000'000};
    if (asked) nanosleep(&pause, nullptr);
    COVE_CHECK(sandbox.stop({.remove = true}, call));
  }
}

}  // namespace cove
