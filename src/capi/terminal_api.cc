#include "capi/answer.h"
#include "capi/forked.h"

using namespace cove;
using namespace cove::capi;

namespace {

const char* text_or_nothing(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

extern "C" {

char* cove_terminal(const char* request, const cove_hooks* hooks) {
  return guarded([&] { return give(tool().run(text_or_nothing(request), terminal_hooks(hooks))); });
}

char* cove_terminal_process(const char* request, const cove_hooks* hooks) {
  return guarded([&] { return give(tool().process(text_or_nothing(request), terminal_hooks(hooks))); });
}

char* cove_terminal_notifications(uint32_t wait_ms) {
  return guarded([&] { return give(tool().notifications(Deadline::after(std::chrono::milliseconds(wait_ms)))); });
}

char* cove_terminal_cleanup(const char* request) {
  return guarded([&] { return give(tool().cleanup(text_or_nothing(request))); });
}

char* cove_terminal_overrides(const char* request) {
  return guarded([&] { return give(tool().set_overrides(text_or_nothing(request))); });
}

void cove_terminal_cleanup_all(void) {
  cove_free(guarded([] {
    tool().cleanup_all();
    return give(std::string());
  }));
}

}  // extern "C"
