#include "backend/table.h"

#include "backend/landlock/landlock.h"
#include "backend/local/local.h"
#include "backend/native/native.h"

namespace cove {

std::vector<Backend*> all_backends() {
  static native::NativeBackend native;
  static landlock::LandlockBackend landlock;
  static local::LocalBackend local;
  return {&native, &landlock, &local};
}

Result<Backend*> find_backend(std::string_view name) {
  std::string known;
  for (Backend* backend : all_backends()) {
    if (backend->name() == name) return backend;
    known += (known.empty() ? "" : ", ") + std::string(backend->name());
  }
  return fail(Errc::not_found, "there is no backend '" + std::string(name) + "': use auto or one of " + known);
}

Result<Choice> choose_backend(Deadline deadline) {
  Choice choice;
  for (Backend* backend : all_backends()) {
    const Probe probe = backend->probe(deadline);
    if (probe.usable) {
      choice.backend = backend;
      return choice;
    }
    choice.rejected.push_back(std::string(backend->name()) + ": " + probe.why_not);
  }
  std::string why;
  for (const std::string& reason : choice.rejected) why += "; " + reason;
  return fail(Errc::unsupported, "no backend can be used here" + why);
}

}  // namespace cove
