#pragma once

#include <cove.h>

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "client/cove.h"
#include "terminal/tool.h"

namespace cove::capi {

// For cove_free().
char* give(const std::string& text);
char* give(const nlohmann::json& json);
char* give(const Error& error);
char* give_caught(const std::exception& caught);

nlohmann::json to_json(const Outcome& outcome);
nlohmann::json to_json(const FileInfo& info);

// What the caller brought along; the hooks stay the caller's.
Call call_of(const cove_hooks* hooks);
CommandIo io_of(const cove_hooks* hooks);
terminal::Hooks terminal_hooks(const cove_hooks* hooks);

// Nothing that is thrown crosses the border.
template <class Work>
char* guarded(Work work) {
  try {
    return work();
  } catch (const std::exception& e) {
    return give_caught(e);
  }
}

}  // namespace cove::capi

struct cove_stop {
  std::stop_source source;
};
