#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "client/cove.h"
#include "terminal/output.h"
#include "terminal/settings.h"

namespace cove::terminal {

using Answer = nlohmann::ordered_json;

// Nothing was run.
Answer error_answer(const std::string& message);
Answer blocked_answer(const std::string& message);
// Our machinery could not: `disabled` where that will not change by itself, `degraded` where asking again may help.
Answer failed_answer(const Error& error, const Settings& settings);

// A command that ended, however.
Answer finished_answer(const Outcome& outcome, const Output::Rendered& output);

}  // namespace cove::terminal
