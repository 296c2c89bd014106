#pragma once

// What each backend is: facts that any layer may ask for, without a link to the backends themselves. Code outside
// src/backend asks for a trait; it does not compare a backend's name (scripts/check-names).

#include <array>
#include <span>
#include <string_view>

#include "backend/apptainer/options.h"
#include "backend/engine/options.h"
#include "backend/microvm/options.h"

namespace cove {

// Whose images a sandbox starts from.
enum class Images : unsigned char {
  none,     // no image: this machine's own files
  store,    // images of `cove image`, a directory, or `host`
  engine,   // the engine's images; the engine applies the image's directory and user
  program,  // what the backend's program understands: its own files and names
};

struct Traits {
  std::string_view name;
  Images images = Images::program;
  // Commands cannot reach what the sandbox does not show them. Where this is false, the floor and approvals apply.
  bool isolates = false;
  // Commands see this machine as the caller does: its files, environment and working directory.
  bool is_this_machine = false;
  // The image's variables are known only inside, so the environment holds only what was asked for.
  bool image_sets_variables = false;
  // Its files are layers on this machine (native/layers.h): diff, apply, checkpoints, snapshots that can be exported.
  bool has_layers = false;
  // The guest may need more than ten seconds for its first message.
  bool starts_slowly = false;
  // Why `auto` does not choose it; "": it does, where it can be used.
  std::string_view not_auto = "";
  // Options that it has and others may not have.
  std::span<const BackendOption> options = {};
};

inline constexpr std::string_view kNeedsImage = "it needs an image";

// Every backend, strongest isolation first.
inline constexpr std::array<Traits, 9> kBackends{{
    {.name = "microvm",
     .images = Images::store,
     .isolates = true,
     .not_auto = "it copies this machine's programs into an image first",
     .options = microvm::kOptions},
    {.name = "microsandbox", .isolates = true, .starts_slowly = true, .not_auto = kNeedsImage},
    {.name = "gvisor",
     .images = Images::store,
     .isolates = true,
     .has_layers = true,
     .not_auto = "its system calls are slower"},
    {.name = "native", .images = Images::store, .isolates = true, .has_layers = true},
    {.name = "docker",
     .images = Images::engine,
     .isolates = true,
     .image_sets_variables = true,
     .not_auto = kNeedsImage,
     .options = engine::kOptions},
    {.name = "podman",
     .images = Images::engine,
     .isolates = true,
     .image_sets_variables = true,
     .not_auto = kNeedsImage,
     .options = engine::kOptions},
    {.name = "apptainer",
     .isolates = true,
     .image_sets_variables = true,
     .not_auto = kNeedsImage,
     .options = apptainer::kOptions},
    {.name = "landlock", .images = Images::none, .isolates = true},
    {.name = "local", .images = Images::none, .is_this_machine = true, .not_auto = "it does not isolate"},
}};

// The backend that `auto` asks first.
constexpr std::string_view first_choice() {
  for (const Traits& traits : kBackends) {
    if (traits.not_auto.empty()) return traits.name;
  }
  return "";
}

// `auto` before it is settled: it becomes a backend that isolates, on this machine.
inline constexpr Traits kAuto{.name = "auto", .images = Images::store, .isolates = true};
// A backend that is not in the table: nothing is assumed in its favour.
inline constexpr Traits kUnknown{};

constexpr const Traits& traits_of(std::string_view backend) {
  for (const Traits& traits : kBackends) {
    if (traits.name == backend) return traits;
  }
  return backend == kAuto.name ? kAuto : kUnknown;
}

constexpr bool has_option(const Traits& traits, std::string_view key) {
  for (const BackendOption& option : traits.options) {
    if (option.key == key) return true;
  }
  return false;
}

}  // namespace cove
