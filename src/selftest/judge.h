#pragma once

#include <optional>

#include "selftest/attempt.h"
#include "selftest/inside.h"

namespace cove::selftest {

inline Verdict held(std::string detail) { return {Finding::held, std::move(detail)}; }
inline Verdict broken(std::string detail) { return {Finding::broken, std::move(detail)}; }
inline Verdict not_applicable(std::string detail) { return {Finding::not_applicable, std::move(detail)}; }

// The first line of what came out of a sandbox, safe to print.
std::string clean_line(std::string_view output);

// An act that did not take place proves nothing, so it counts as broken. nullopt: it took place.
std::optional<Verdict> untried(const Ran& ran);

// By what the act itself says.
Verdict judge(const Ran& ran);
// By whether the secret came out.
Verdict judge_secret(const Ran& ran, std::string_view secret);
// By what was seen outside.
Verdict judge_outside(const Ran& ran, bool seen, std::string what);

}  // namespace cove::selftest
