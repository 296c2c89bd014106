#include "terminal/make_sandbox.h"

#include <cstdio>
#include <random>
#include <thread>

#include "backend/traits.h"
#include "client/complete.h"
#include "record/record.h"
#include "terminal/tasks.h"

namespace cove::terminal {
namespace {

std::string random_text() {
  std::random_device source;
  char text[16];
  std::snprintf(text, sizeof(text), "%08x", source());
  return text;
}

Result<Sandbox> create(std::string name, const Settings& settings, const Call& call) {
  COVE_TRY(SandboxSpec spec, complete_spec(settings));
  spec.name = std::move(name);
  spec.owned = !spec.persistent;
  return Sandbox::create(spec, call);
}

std::string backend_of(const std::string& name, const Settings& settings) {
  if (settings.spec.backend != kAuto.name) return settings.spec.backend;
  const auto record = record::Record::open(name);
  const auto info = record ? record->info() : Result<record::Info>(fail(record.error()));
  return info ? info->spec.backend : settings.spec.backend;
}

// Files of one image do not become those of another one because a variable has changed.
Result<void> check_kind(const std::string& task, const record::Info& info, const SandboxSpec& wanted) {
  const auto differs = [](const std::string& asked, const std::string& has) {
    return !asked.empty() && asked != kAuto.name && !has.empty() && asked != has;
  };
  if (wanted.backend == kAuto.name && !traits_of(info.spec.backend).isolates)
    return fail(Errc::conflict, "task '" + task + "' has a persistent sandbox (" + info.name +
                                    ") without isolation: name the backend '" + info.spec.backend +
                                    "', or remove it with 'cove rm " + info.name + "'");
  const bool backend = differs(wanted.backend, info.spec.backend), image = differs(wanted.image, info.spec.image);
  if (!backend && !image) return {};
  return fail(Errc::conflict, "task '" + task + "' has a persistent sandbox (" + info.name + ") of " +
                                  (backend ? "backend " + info.spec.backend + ", not " + wanted.backend
                                           : "image " + info.spec.image + ", not " + wanted.image) +
                                  ": ask for the same, or remove it with 'cove rm " + info.name + "'");
}

// One that is there may be just starting or going down, in this process or another one: then it is asked again.
Result<Made> find_or_create(const std::string& task, const Settings& settings, const Call& call) {
  const std::string name = sandbox_of(task);
  const Deadline deadline = earlier(call.deadline, Deadline::after(std::chrono::seconds(10)));
  while (true) {
    const auto record = record::Record::open(name);
    if (!record && record.error().code != Errc::not_found) return fail(record.error());
    Result<Sandbox> sandbox = fail(Errc::internal, "");
    if (!record) {
      sandbox = create(name, settings, call);
      if (sandbox) return Made{std::move(*sandbox), backend_of(name, settings), false};
    } else {
      COVE_TRY(const auto info, record->info());
      COVE_CHECK(check_kind(task, info, settings.spec));
      sandbox = info.life == record::Life::running ? Sandbox::open(name) : Sandbox::restart(name, call);
      if (sandbox) return Made{std::move(*sandbox), info.spec.backend, true};
    }
    const Errc why = sandbox.error().code;
    const bool passing = why == Errc::conflict || why == Errc::disconnected || (record && why == Errc::not_found);
    if (!passing || deadline.passed() || call.stop.stop_requested()) return fail(std::move(sandbox).error());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

Result<SandboxSpec> complete_spec(const Settings& settings) {
  return complete(settings.spec, {.given = settings.given, .env = settings.env, .forward = settings.forward_env});
}

Result<Made> make_sandbox(const std::string& task, const Settings& settings, const Call& call) {
  if (settings.spec.persistent) return find_or_create(task, settings, call);
  COVE_TRY(Sandbox made, create(record::name_for("task-" + task + "-" + random_text()), settings, call));
  std::string backend = backend_of(made.name(), settings);
  return Made{std::move(made), std::move(backend), false};
}

}  // namespace cove::terminal
