#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "backend/traits.h"
#include "client/from.h"
#include "client/pool.h"
#include "policy/env.h"
#include "record/snapshots.h"

namespace cove {

using proto::ClientType;
using proto::LayerVerb;

Result<std::string> Sandbox::layers(const proto::LayerRequest& request, const Call& call) {
  COVE_TRY(const std::string reply, ask(ClientType::layers, proto::encode(request), ClientType::json, call));
  COVE_TRY(auto json, proto::decode<proto::Text>(reply));
  return std::move(json.text);
}

Result<std::string> Sandbox::snapshot(const std::string& tag, const Call& call, Saved what) {
  return layers({.verb = what == Saved::memory ? LayerVerb::snapshot_memory : LayerVerb::snapshot, .tag = tag}, call);
}

Result<void> Sandbox::restore(const std::string& tag, const Call& call) {
  COVE_CHECK(layers({.verb = LayerVerb::restore, .tag = tag}, call));
  return {};
}

Result<void> Sandbox::undo(std::uint32_t count, const Call& call) {
  COVE_CHECK(layers({.verb = LayerVerb::undo, .count = count}, call));
  return {};
}

Result<void> Sandbox::pause(const Call& call) {
  COVE_CHECK(layers({.verb = LayerVerb::pause}, call));
  return {};
}

Result<void> Sandbox::resume(const Call& call) {
  COVE_CHECK(layers({.verb = LayerVerb::resume}, call));
  return {};
}

Result<std::vector<std::string>> Sandbox::sync(const Call& call) {
  COVE_TRY(const std::string text, layers({.verb = LayerVerb::sync}, call));
  std::vector<std::string> left;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("left") || !json["left"].is_array())
    return fail(Errc::protocol, "the keeper's answer is no list");
  for (const auto& one : json["left"]) {
    if (one.is_string()) left.push_back(one.get<std::string>());
  }
  return left;
}

Result<std::string> Sandbox::history(const Call& call) { return layers({.verb = LayerVerb::history}, call); }

Result<void> Sandbox::checkpoint(bool on, const Call& call) {
  COVE_CHECK(layers({.verb = LayerVerb::checkpoint, .count = on ? 1U : 0U}, call));
  return {};
}

PassingSnapshot::PassingSnapshot() : tag_(".fork-" + record::new_layer_id()) {}

PassingSnapshot::~PassingSnapshot() { [[maybe_unused]] const auto removed = record::remove_snapshot(tag_); }

Result<std::vector<Sandbox>> Sandbox::fork(std::size_t count, const Call& call, Saved what) {
  COVE_TRY(const auto info, pool_->record.info());
  const PassingSnapshot passing;
  COVE_CHECK(snapshot(passing.tag(), call, what));
  std::vector<Sandbox> forks;
  for (std::size_t i = 0; i < count; ++i) {
    SandboxSpec spec = info.spec;
    spec.name.clear();
    spec.env.clear();
    spec.owned = static_cast<bool>(lifetime_);
    spec.from = passing.tag();
    COVE_TRY(Sandbox made, create(spec, call));
    forks.push_back(std::move(made));
  }
  return forks;
}

void take_environment(SandboxSpec& spec, const record::Snapshot& snapshot) {
  const auto knows = [&](const std::string& key) {
    return std::any_of(spec.env.begin(), spec.env.end(), [&](const auto& one) { return one.first == key; });
  };
  for (const auto& [key, value] : snapshot.env) {
    if (!knows(key)) spec.env.emplace_back(key, value);
  }
  for (const auto& [key, value] : policy::host_env()) {
    const auto& forwarded = spec.env_names_forwarded;
    if (std::find(forwarded.begin(), forwarded.end(), key) != forwarded.end() && !knows(key))
      spec.env.emplace_back(key, value);
  }
}

namespace {

// What runs goes on behind the walls and limits that it knows, with the variables that it has.
Result<void> stand_on_place(SandboxSpec& spec, const record::Snapshot& snapshot) {
  COVE_CHECK(record::check_place(spec, snapshot));
  copy_fields(spec, snapshot.place, kPlace);
  spec.env.clear();
  return {};
}

}  // namespace

Result<void> stand_on_snapshot(SandboxSpec& spec) {
  COVE_TRY(const auto snapshot, record::find_snapshot(spec.from));
  if (spec.backend == kAuto.name) spec.backend = snapshot.backend;
  if (spec.backend != snapshot.backend)
    return fail(Errc::unsupported, "snapshot " + spec.from + " is of backend " + snapshot.backend + ", not " +
                                       spec.backend + ": 'cove snapshot export' takes it anywhere");
  if (!spec.image.empty() && spec.image != snapshot.image)
    return fail(Errc::invalid, "--from " + spec.from + " brings its own image: leave --image out");
  spec.image = snapshot.image;
  spec.image_layers = snapshot.image_layers;
  if (spec.user.empty()) spec.user = snapshot.user;
  spec.layers = snapshot.layers;
  if (spec.cwd.empty()) spec.cwd = snapshot.cwd;
  if (!snapshot.memory.empty()) COVE_CHECK(stand_on_place(spec, snapshot));
  take_environment(spec, snapshot);
  return {};
}

}  // namespace cove
