#pragma once

// For tests: a spec in which every field that travels has a value of its own.

#include "spec/spec.h"

namespace cove::testing_helpers {

inline void fill(std::string& field, unsigned n) { field = "text" + std::to_string(n); }
inline void fill(std::vector<std::string>& field, unsigned n) { field = {"a" + std::to_string(n), "b=c"}; }
inline void fill(Pairs& field, unsigned n) { field = {{"A" + std::to_string(n), "x=y"}, {"B", ""}}; }
inline void fill(bool& field, unsigned) { field = !field; }
template <class Number>
void fill(Number& field, unsigned n) {
  field = static_cast<Number>(n) + static_cast<Number>(1.5);
}

inline SandboxSpec filled_spec() {
  SandboxSpec spec;
  unsigned n = 0;
  SandboxSpec::each_field(spec, [&](const char*, auto& field, unsigned) { fill(field, ++n); });
  return spec;
}

}  // namespace cove::testing_helpers
