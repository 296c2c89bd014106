// Files and sessions of a Keeper's sandbox, saved and taken back. Each request waits for the states of all sessions,
// which the guest tells when no command of theirs is ending, and is then done in one go.

#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/log.h"
#include "keeper/keeper.h"
#include "os/background.h"
#include "os/remove_tree.h"
#include "record/json.h"

namespace cove::keeper {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto kExchange = 10s;
constexpr auto kExchangeApart = 120s;
constexpr auto kSync = 120s;

// Layers may hold a million files: their removal is nobody's wait.
void clear_in_background(const std::vector<std::string>& given_up) {
  if (given_up.empty()) return;
  os::run_in_background([&] { [[maybe_unused]] const auto cleared = record::clear_layers(given_up); });
}

// Of a snapshot that did not come to be.
void drop_memory(const record::Snapshot& saved) {
  if (!saved.memory.empty()) [[maybe_unused]]
    const auto removed = os::remove_tree_at(AT_FDCWD, saved.memory);
}

}  // namespace

void Keeper::layers(ClientSession& asking, const proto::LayerRequest& request) {
  begin_checkpoint();  // of commands that ended before anybody asked this
  if (request.verb == proto::LayerVerb::history && (paused_ || layer_work_.empty()))
    return asking.answer_json(history());
  if (request.verb == proto::LayerVerb::pause || request.verb == proto::LayerVerb::resume) {
    const auto done = request.verb == proto::LayerVerb::pause ? pause() : resume();
    if (!done) return asking.answer_error(done.error());
    return asking.answer_json(json_text(Json{{"sandbox", record_.name()}, {"paused", paused_}}));
  }
  if (paused_) return asking.answer_error(accepting().error());
  if (request.verb == proto::LayerVerb::sync) {
    const auto left = place_->sync_volumes(Deadline::after(kSync));
    if (!left) return asking.answer_error(left.error());
    return asking.answer_json(json_text(Json{{"sandbox", record_.name()}, {"left", *left}}));
  }
  layer_work_.push_back({asking.token, request});
  ask_sessions();
}

bool Keeper::begin_checkpoint() {
  if (ended_.empty() || commands_.running() > 0 || asked_for_checkpoint_ || phase_ != Phase::serving) return false;
  asked_for_checkpoint_ = true;
  layer_work_.push_back({});
  ask_sessions();
  return true;
}

void Keeper::ask_sessions() {
  guest_.send(proto::GuestType::session_state, 0, proto::SessionState{});
  ++session_answers_due_;
}

void Keeper::do_layer_work() {
  for (const LayerWork& work : std::exchange(layer_work_, {})) {
    if (!reconnect_until_.is_never()) {  // the one before has let go of the channel
      layer_work_.push_back(work);
      continue;
    }
    if (work.client == 0) {
      checkpoint();
      continue;
    }
    auto done = do_request(work.request);
    const auto client = sessions_.find(work.client);
    if (client == sessions_.end()) continue;
    if (done)
      client->second->answer_json(std::move(*done));
    else
      client->second->answer_error(done.error());
  }
  heard_.clear();
  if (!layer_work_.empty()) ask_sessions();
  os::reap_background();
  if (holding()) return;
  std::vector<ClientSession*> all;
  for (auto& [token, session] : sessions_) all.push_back(session.get());
  for (ClientSession* session : all) session->go_on();
}

Result<std::string> Keeper::do_request(const proto::LayerRequest& request) {
  switch (request.verb) {
    case proto::LayerVerb::snapshot:
    case proto::LayerVerb::snapshot_memory: return snapshot(request);
    case proto::LayerVerb::restore: return restore(request.tag);
    case proto::LayerVerb::undo: return undo(request.count);
    case proto::LayerVerb::checkpoint: break;
    case proto::LayerVerb::history: return history();
    case proto::LayerVerb::sync:
    case proto::LayerVerb::pause:
    case proto::LayerVerb::resume: return fail(Errc::internal, "pause and resume wait for nobody");
  }
  // What was changed before is not the next command's doing.
  if (request.count > 0 && !spec_.checkpoint) COVE_CHECK(seal());
  spec_.checkpoint = request.count > 0;
  before_ = heard_;
  if (!spec_.checkpoint) COVE_CHECK(history_.cut(0));
  COVE_CHECK(record_.write_spec(spec_));
  return json_text(Json{{"checkpoint", spec_.checkpoint}});
}

// The layer is named first: after a crash in between, or on a full disk, one that is not there is no harm, but one that
// is not named would be lost. So it stays named if nobody knows how far the exchange has come.
Result<bool> Keeper::seal() {
  if (!place_->has_changes()) return false;
  const std::string id = record::new_layer_id();
  const bool apart = place_->seals_apart();
  if (apart) COVE_CHECK(leave());
  const auto named = record_.add_layer(id);
  auto sealed = named ? place_->seal(id, Deadline::after(apart ? kExchangeApart : kExchange)) : fail(named.error());
  if (apart) COVE_CHECK(come_back());
  if (!sealed && sealed.error().code == Errc::internal) {
    begin_end({sealed.error().message, false, false}, 0);
    return sealed;
  }
  if (!sealed || !*sealed) {
    COVE_CHECK(record_.write_spec(spec_));
    return sealed;
  }
  spec_.layers.push_back(id);
  guest_.send(proto::GuestType::files_moved, 0, std::string_view());
  return true;
}

void Keeper::give_sessions(const record::Sessions& sessions) {
  for (const auto& [name, state] : sessions)
    guest_.send(proto::GuestType::restore_session, 0, proto::SessionState{name, state});
}

Result<void> Keeper::go_back(std::vector<std::string> layers, const record::Sessions& sessions) {
  if (commands_.running() > 0)
    return fail(Errc::conflict, "commands are running in sandbox " + record_.name() + ": wait for them or end them");
  // With nothing in a persistent sandbox's own layer, all of its files are what its record names: writing that down is
  // the one moment before which a crash leaves it as it was, and after which as it is to be.
  if (spec_.persistent) COVE_CHECK(seal());
  SandboxSpec next = spec_;
  next.layers = std::move(layers);
  COVE_CHECK(record_.write_spec(next));
  if (auto back = place_->rewind(next.layers, Deadline::after(kExchange)); !back) {
    if (back.error().code == Errc::internal) begin_end({back.error().message, false, false}, 0);
    COVE_CHECK(record_.write_spec(spec_));
    return back;
  }
  if (place_->rewinds_to_new_guest()) {
    if (auto met = meet_new_guest(Deadline::after(60s)); !met) {
      begin_end({"it could not go back: " + met.error().message, false, false}, 0);
      return met;
    }
  }
  const std::vector<std::string> old = std::exchange(spec_.layers, std::move(next.layers));
  record::Sessions given;
  for (const auto& [name, state] : heard_) given[name] = "";
  for (const auto& [name, state] : sessions) given[name] = state;
  give_sessions(given);
  for (const auto& [name, state] : given) save_session(name, state);  // one that is empty now is not told again
  before_ = sessions;
  clear_in_background(old);
  return {};
}

Result<std::string> Keeper::snapshot(const proto::LayerRequest& request) {
  const std::string& tag = request.tag;
  const bool with_memory = request.verb == proto::LayerVerb::snapshot_memory;
  COVE_CHECK(record::check_tag(tag));
  if (record::find_snapshot(tag))
    return fail(Errc::conflict, "there is a snapshot " + tag + "; 'cove snapshot rm " + tag + "' frees the name");
  record::Snapshot saved{.tag = tag,
                         .sandbox = record_.name(),
                         .backend = spec_.backend,
                         .image = spec_.image,
                         .cwd = spec_.cwd,
                         .user = spec_.user,
                         .image_layers = spec_.image_layers,
                         .created_unix = std::time(nullptr),
                         .sessions = heard_};
  if (auto done = with_memory ? save_memory(saved) : seal().map([](bool) {}); !done) {
    drop_memory(saved);
    return fail(std::move(done).error());
  }
  saved.layers = spec_.layers;
  for (const auto& [key, value] : spec_.env) {
    const auto& forwarded = spec_.env_names_forwarded;
    if (std::find(forwarded.begin(), forwarded.end(), key) == forwarded.end()) saved.env.emplace_back(key, value);
  }
  if (auto kept = record::save_snapshot(saved); !kept) {
    drop_memory(saved);
    return fail(std::move(kept).error());
  }
  return json_text(Json{{"tag", tag},
                        {"sandbox", record_.name()},
                        {"layers", spec_.layers.size()},
                        {"memory", with_memory},
                        {"commands_running", commands_.unfinished()}});
}

Result<std::string> Keeper::restore(const std::string& tag) {
  COVE_TRY(const auto saved, record::find_snapshot(tag));
  if (saved.image != spec_.image || saved.image_layers != spec_.image_layers || saved.backend != spec_.backend) {
    return fail(Errc::conflict, "snapshot " + tag + " is of another image or backend (" + saved.backend + ", " +
                                    (saved.image.empty() ? "host" : saved.image) + "): 'cove create --from " + tag +
                                    "' makes a sandbox of it");
  }
  if (saved.memory.empty())
    COVE_CHECK(go_back(saved.layers, saved.sessions));
  else
    COVE_CHECK(change_place(saved));
  COVE_CHECK(history_.cut(0));
  return json_text(Json{{"tag", tag}, {"sandbox", record_.name()}});
}

Result<std::string> Keeper::undo(std::uint32_t count) {
  const std::size_t there = history_.all().size();
  if (!spec_.checkpoint && there == 0)
    return fail(Errc::conflict, "sandbox " + record_.name() + " keeps no checkpoints: 'cove checkpoint on " +
                                    record_.name() + "', or create it with --checkpoint");
  if (count == 0 || count > there)
    return fail(Errc::invalid, "there are " + std::to_string(there) + " commands to undo in sandbox " + record_.name() +
                                   ", not " + std::to_string(count));
  const std::size_t left = there - count;
  const record::Done target = history_.all()[left];
  std::vector<std::string> layers = spec_.layers;
  layers.resize(std::min(layers.size(), static_cast<std::size_t>(target.layers_before)));
  COVE_CHECK(go_back(std::move(layers), *target.sessions_before));
  COVE_CHECK(history_.cut(left));
  return json_text(Json{{"undone", count}, {"left", left}});
}

std::string Keeper::history() const {
  Json all = Json::array();
  for (const record::Done& done : history_.all()) {
    all.push_back(Json{{"id", done.outcome.id},
                       {"command", done.text},
                       {"outcome", std::string(record::name(done.outcome.ending))},
                       {"exit_code", done.outcome.exit_code},
                       {"duration_ms", done.outcome.duration_us / 1000},
                       {"layer", done.layer},
                       {"layers_before", done.layers_before}});
  }
  return json_text(Json{{"checkpoint", spec_.checkpoint}, {"layers", spec_.layers}, {"commands", all}});
}

// After the last of the commands that ran at once: what they changed is one layer, the last one's.
void Keeper::checkpoint() {
  asked_for_checkpoint_ = false;
  const std::size_t layers_before = spec_.layers.size();
  const auto sealed = seal();
  if (!sealed) log_event("checkpoint.failed", {{"error", sealed.error().message}});
  const bool changed = sealed && *sealed;
  // A look at a file is nothing to undo.
  std::vector<Ended> ended = std::exchange(ended_, {});
  std::erase_if(ended, [&](const Ended& one) { return one.passing && !changed; });
  const auto before = std::make_shared<const record::Sessions>(before_);
  for (std::size_t i = 0; i < ended.size(); ++i) {
    record::Done& done = ended[i].done;
    done.layers_before = layers_before;
    done.sessions_before = before;
    if (changed && i + 1 == ended.size()) done.layer = spec_.layers.back();
    if (const auto added = history_.add(std::move(done)); !added)
      log_event("history.not_saved", {{"error", added.error().message}});
  }
  before_ = heard_;
}

// What was changed without a command of ours, by what ran on until the stop or by one that a crash cut off, is not the
// next command's doing.
void Keeper::recall_history() {
  auto history = record::History::open(record_.directory(), spec_.layers);
  if (!history) return log_event("history.not_read", {{"error", history.error().message}});
  history_ = std::move(*history);
  if (history_.all().empty()) return;
  if (const auto sealed = seal(); !sealed) log_event("checkpoint.failed", {{"error", sealed.error().message}});
}

}  // namespace cove::keeper
