#pragma once

// What a sandbox is asked to be: one struct and one list of its fields, from which the launch message, spec.json,
// `cove inspect`, copies and comparisons follow. A new field is one member and one line of each_field().

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cove {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// What a field takes part in; a sum of these.
enum FieldUse : unsigned {
  kSent = 1,    // the launch message
  kStored = 2,  // spec.json, from which a persistent sandbox starts again, and `cove inspect`
  kKind = 4,    // what two sandboxes of the same kind share
  kPlace = 8,   // what running programs rely on: a snapshot with memory brings it along
  kFixed = 16,  // ... and refuses another value of
};

// Empty and zero mean "the backend's default"; anything else must be honoured or refused.
struct SandboxSpec {
  std::string name;
  std::string backend = "auto";
  std::vector<std::string> require;  // what `auto` must find: see backend/capability.h
  std::string image, net, cwd;
  Pairs options;                          // those of its backend alone (Traits::options), by key
  std::vector<std::string> image_layers;  // of an image of the store: its diff ids, settled when the sandbox is made
  std::string user;                       // the user that sessions run as; "" is root
  std::string pull = "missing";           // or "always", "never": whether to fetch the image
  std::vector<std::string> layers;        // sealed ones above the image, the lowest first: see native/layers.h
  Pairs env;                              // the final environment: base, -e and forwarded, already filtered
  std::vector<std::string> env_names_forwarded;  // their values are never written to disk
  std::vector<std::string> volumes;              // HOST:INSIDE[:ro|:cow]
  std::int64_t copies_began_ns = 0;              // of volumes shown as a copy: when, by the clock of files
  double cpus = 0;
  std::uint64_t memory_bytes = 0, disk_bytes = 0;
  std::uint32_t pids = 0;
  std::uint64_t timeout_ms = 0;                           // default for each command
  std::uint64_t idle_timeout_ms = 0;                      // 0: none
  std::uint64_t max_duration_ms = 0;                      // 0: none
  std::uint64_t log_cap_bytes = std::uint64_t{64} << 20;  // kept per command
  bool persistent = false;
  bool sys = false;         // shows a read-only /sys
  bool login = true;        // sessions read the login start-up files
  bool owned = false;       // ends with its owner
  bool checkpoint = false;  // each command that changes files gets a layer of its own
  std::string from;         // the snapshot whose sessions it begins with
  bool prepared = false;    // ready only when its first shell is, which is then kept until it is used
  bool split = false;       // the first command wants its two streams apart: its shell is made so

  // Known on this machine only, never sent or stored.
  std::string directory;             // the sandbox's own, given by the keeper
  std::vector<std::string> command;  // what the image would run
  std::string memory;                // directory of Place::save_memory that it resumes from
  bool inherits = false;             // the place brings variables and a directory of its own, below those here

  // "": not given.
  std::string_view option(std::string_view key) const {
    for (const auto& [known, value] : options) {
      if (known == key) return value;
    }
    return "";
  }
  void set_option(std::string_view key, std::string value) {
    std::erase_if(options, [&](const auto& one) { return one.first == key; });
    options.emplace_back(key, std::move(value));
  }

  // visit(name, field, uses) for every field that travels.
  template <class Self, class Visit>
  static void each_field(Self& s, Visit&& visit) {
    constexpr unsigned kKept = kSent | kStored;
    visit("name", s.name, kKept);
    visit("backend", s.backend, kKept | kKind);
    visit("require", s.require, kSent);
    visit("image", s.image, kKept | kKind);
    visit("image_layers", s.image_layers, kKept | kKind);
    visit("user", s.user, kKept | kKind | kFixed);
    visit("options", s.options, kKept | kKind);
    visit("layers", s.layers, kKept);
    visit("checkpoint", s.checkpoint, kKept);
    visit("net", s.net, kKept | kPlace | kFixed);
    visit("cwd", s.cwd, kKept | kPlace);
    visit("env", s.env, kSent);
    visit("env_names_forwarded", s.env_names_forwarded, kKept | kPlace);
    visit("volumes", s.volumes, kKept | kPlace | kFixed);
    visit("copies_began_ns", s.copies_began_ns, kKept | kPlace);
    visit("cpus", s.cpus, kKept | kPlace | kFixed);
    visit("memory_bytes", s.memory_bytes, kKept | kPlace | kFixed);
    visit("disk_bytes", s.disk_bytes, kKept | kPlace | kFixed);
    visit("pids", s.pids, kKept | kPlace | kFixed);
    visit("timeout_ms", s.timeout_ms, kKept);
    visit("idle_timeout_ms", s.idle_timeout_ms, kKept);
    visit("max_duration_ms", s.max_duration_ms, kKept);
    visit("log_cap_bytes", s.log_cap_bytes, kKept);
    visit("persistent", s.persistent, kKept);
    visit("sys", s.sys, kKept | kKind);
    visit("login", s.login, kKept | kPlace);
    visit("owned", s.owned, kKept);
    visit("pull", s.pull, kSent);
    visit("from", s.from, kSent);
    visit("prepared", s.prepared, kSent);
    visit("split", s.split, kSent);
  }

  // For proto/codec.h.
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    each_field(s, [&](const char*, auto& field, unsigned uses) {
      if ((uses & kSent) != 0) ar(field);
    });
  }
};

// Takes the fields with this use over from another spec.
void copy_fields(SandboxSpec& to, const SandboxSpec& from, FieldUse use);
// The name of the first field with this use that `wanted` gives another value than `was` has; "": none. A value that
// is empty or zero is not wanted.
std::string_view first_difference(const SandboxSpec& wanted, const SandboxSpec& was, FieldUse use);
// "memory_bytes" -> "--memory": the option that sets a field.
std::string option_of_field(std::string_view field);

}  // namespace cove
