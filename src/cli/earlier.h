#pragma once

#include <optional>

#include "client/cove.h"

namespace cove::cli {

// A command that was asked for by an id which may have been used before.
struct EarlierQuery {
  std::string name, id;
  bool json = false, background = false;
};

// If the id is known: tells how that run ended (its output again) or that it is running; the exit code.
// nullopt: it was never started.
std::optional<int> report_earlier(Sandbox& sandbox, const EarlierQuery& query);

// The sandbox does not run: if its journal knows the id, that is the answer; otherwise the error is.
int report_dead(const EarlierQuery& query, const Error& error);

}  // namespace cove::cli
