#include "backend/table.h"

#include <algorithm>

#include "backend/apptainer/apptainer.h"
#include "backend/engine/engine.h"
#include "backend/gvisor/gvisor.h"
#include "backend/landlock/landlock.h"
#include "backend/local/local.h"
#include "backend/microsandbox/microsandbox.h"
#include "backend/microvm/microvm.h"
#include "backend/native/native.h"

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
  return {&native, &docker, &podman, &landlock, &gvisor, &microvm, &microsandbox, &apptainer, &local};
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

// "" if it will do.
std::string why_not(Backend& backend, const std::vector<std::string>& required, Deadline deadline) {
  if (!backend.isolates())
    return "it has no walls; use --backend " + std::string(backend.name()) + " if that is wanted";
  if (backend.by_name_only()) return "it needs an image: name it with --backend " + std::string(backend.name());
  if (required.empty()) return backend.why_not(deadline);
  const Probe probe = backend.probe(deadline);
  if (!probe.usable) return probe.why_not;
  for (const std::string& wanted : required) {
    if (std::find(probe.capabilities.begin(), probe.capabilities.end(), wanted) == probe.capabilities.end())
      return "it cannot promise " + wanted + " here";
  }
  return "";
}

}  // namespace

Result<Choice> choose_backend(const std::vector<std::string>& required, Deadline deadline) {
  for (const std::string& wanted : required) {
    if (std::find(kRequirements.begin(), kRequirements.end(), wanted) == kRequirements.end())
      return fail(Errc::invalid, "--require " + wanted + ": there are fs-read, fs-write, net, pid and memory");
  }
  Choice choice;
  for (Backend* backend : all_backends()) {
    const std::string reason = why_not(*backend, required, deadline);
    if (reason.empty()) {
      choice.backend = backend;
      return choice;
    }
    choice.rejected.push_back(std::string(backend->name()) + ": " + reason);
  }
  std::string why;
  for (const std::string& reason : choice.rejected) why += "; " + reason;
  return fail(Errc::unsupported, "no backend can be used here" + why);
}

}  // namespace cove
