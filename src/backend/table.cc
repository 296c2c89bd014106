#include "backend/table.h"

#include "backend/apptainer/apptainer.h"
#include "backend/engine/engine.h"
#include "backend/gvisor/gvisor.h"
#include "backend/landlock/landlock.h"
#include "backend/local/local.h"
#include "backend/microsandbox/microsandbox.h"
#include "backend/microvm/microvm.h"
#include "backend/native/native.h"
#include "backend/traits.h"

namespace cove {

std::vector<Backend*> all_backends() {
  static native::NativeBackend native;
  static engine::EngineBackend docker("docker"), podman("podman");
  static landlock::LandlockBackend landlock;
  static local::LocalBackend local;
  static gvisor::GvisorBackend gvisor;
  static microvm::MicrovmBackend microvm;
  static microsandbox::MicrosandboxBackend microsandbox;
  static apptainer::ApptainerBackend apptainer;
  return {&microvm, &microsandbox, &gvisor, &native, &docker, &podman, &apptainer, &landlock, &local};
}

Result<Backend*> find_backend(std::string_view name) {
  std::string known;
  for (Backend* backend : all_backends()) {
    if (backend->name() == name) return backend;
    known += (known.empty() ? "" : ", ") + std::string(backend->name());
  }
  return fail(Errc::not_found, "there is no backend '" + std::string(name) + "': use auto or one of " + known);
}

namespace {

// Why `auto` cannot take it; "": it can.
std::string why_not_auto(Backend& backend, const std::vector<Capability>& required, Deadline deadline) {
  const std::string_view reason = traits_of(backend.name()).not_auto;
  if (!reason.empty()) return std::string(reason) + ": name it with --backend " + std::string(backend.name());
  if (required.empty()) return backend.why_not(deadline);
  const Probe probe = backend.probe(deadline);
  if (!probe.usable) return probe.why_not;
  for (const Capability wanted : required) {
    if (!probe.capabilities.has(wanted)) return "it cannot promise " + std::string(spelling(wanted)) + " here";
  }
  return "";
}

Result<Capability> find_requirement(const std::string& text) {
  std::string known;
  for (const Capability one : kRequirements) {
    if (spelling(one) == text) return one;
    known += (known.empty() ? "" : ", ") + std::string(spelling(one));
  }
  return fail(Errc::invalid, "--require " + text + ": use one of " + known);
}

}  // namespace

Result<Choice> choose_backend(const std::vector<std::string>& require, Deadline deadline) {
  std::vector<Capability> required;
  for (const std::string& text : require) {
    COVE_TRY(const Capability wanted, find_requirement(text));
    required.push_back(wanted);
  }
  Choice choice;
  bool first_failed = false;
  for (Backend* backend : all_backends()) {
    const std::string reason = why_not_auto(*backend, required, deadline);
    if (reason.empty()) {
      choice.backend = backend;
      if (!first_failed) choice.rejected.clear();  // the usual choice needs no explanation
      return choice;
    }
    if (traits_of(backend->name()).not_auto.empty()) first_failed = true;
    choice.rejected.push_back(std::string(backend->name()) + ": " + reason);
  }
  std::string why;
  for (const std::string& reason : choice.rejected) why += "; " + reason;
  return fail(Errc::unsupported, "no backend can be used here" + why);
}

}  // namespace cove
