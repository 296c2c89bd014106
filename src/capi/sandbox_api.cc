#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "capi/answer.h"
#include "capi/forked.h"
#include "capi/get_sandbox.h"
#include "capi/verbs.h"
#include "record/record.h"

using namespace cove;
using namespace cove::capi;

struct cove_sandbox {
  Sandbox sandbox;
};

namespace {

using Json = nlohmann::json;

cove_sandbox* make_handle(Sandbox sandbox) {
  auto* handle = new cove_sandbox{std::move(sandbox)};
  remember(&handle->sandbox);
  return handle;
}

Json request_of(const char* text) { return parse_json(text == nullptr ? "" : text); }

}  // namespace

extern "C" {

char* cove_sandbox_get(const char* request, const cove_hooks* hooks, cove_sandbox** sandbox) {
  return guarded([&] {
    *sandbox = nullptr;
    auto got = get_sandbox(request_of(request), call_of(hooks));
    if (!got) return give(got.error());
    const Json about{{"name", got->name()}, {"notes", got->notes()}};
    *sandbox = make_handle(std::move(*got));
    return give(about);
  });
}

void cove_sandbox_close(cove_sandbox* sandbox) {
  if (sandbox == nullptr) return;
  forget(&sandbox->sandbox);
  delete sandbox;
}

char* cove_sandbox_call(cove_sandbox* sandbox, const char* request, const char* bytes, size_t size,
                        const cove_hooks* hooks) {
  return guarded([&] {
    const Json asked_for = request_of(request);
    Asked asked{sandbox->sandbox, asked_for, {bytes, bytes == nullptr ? 0 : size}, io_of(hooks), call_of(hooks)};
    const auto answer = perform(asked);
    return answer ? give(*answer) : give(answer.error());
  });
}

char* cove_sandbox_fork(cove_sandbox* sandbox, size_t count, const cove_hooks* hooks, cove_sandbox** forks) {
  return guarded([&] {
    auto made = sandbox->sandbox.fork(count, call_of(hooks));
    if (!made) return give(made.error());
    Json names = Json::array();
    for (std::size_t i = 0; i < made->size(); ++i) {
      names.push_back((*made)[i].name());
      forks[i] = make_handle(std::move((*made)[i]));
    }
    return give(Json{{"names", names}});
  });
}

char* cove_sandboxes(void) {
  return guarded([] {
    const auto infos = record::list();
    if (!infos) return give(infos.error());
    Json all = Json::array();
    for (const record::Info& info : *infos) {
      all.push_back({{"name", info.name},
                     {"state", record::state_of(info)},
                     {"backend", info.spec.backend},
                     {"persistent", info.spec.persistent},
                     {"owned", info.spec.owned},
                     {"created", info.created_unix},
                     {"why", info.why}});
    }
    return give(all);
  });
}

char* cove_sandbox_remove(const char* request) {
  return guarded([&] {
    const Json asked = request_of(request);
    if (!asked.is_object()) return give(Error{Errc::invalid, "the request is not a JSON object"});
    const auto removed = Sandbox::remove(asked.value("name", ""));
    return removed ? give(Json::object()) : give(removed.error());
  });
}

}  // extern "C"
