#include "spec/spec.h"

#include <map>
#include <type_traits>

namespace cove {
namespace {

// Both specs list the same fields in the same order: the second visit finds its partner by name.
template <class Use>
void each_pair(auto& left, auto& right, FieldUse use, Use&& with) {
  SandboxSpec::each_field(left, [&](std::string_view name, auto& field, unsigned uses) {
    if ((uses & use) == 0) return;
    SandboxSpec::each_field(right, [&](std::string_view other_name, auto& other, unsigned) {
      using Left = std::remove_cvref_t<decltype(field)>;
      if constexpr (std::is_same_v<Left, std::remove_cvref_t<decltype(other)>>) {
        if (name == other_name) with(name, field, other);
      }
    });
  });
}

}  // namespace

void copy_fields(SandboxSpec& to, const SandboxSpec& from, FieldUse use) {
  each_pair(to, from, use, [](std::string_view, auto& field, const auto& other) { field = other; });
}

std::string_view first_difference(const SandboxSpec& wanted, const SandboxSpec& was, FieldUse use) {
  std::string_view found;
  each_pair(wanted, was, use, [&](std::string_view name, const auto& field, const auto& other) {
    using Value = std::remove_cvref_t<decltype(field)>;
    if (found.empty() && field != Value{} && field != other) found = name;
  });
  return found;
}

std::string option_of_field(std::string_view field) {
  if (field == "volumes") return "--volume";
  for (const std::string_view unit : {"_bytes", "_ms"}) {
    if (field.ends_with(unit)) field.remove_suffix(unit.size());
  }
  std::string option = "--" + std::string(field);
  for (char& c : option) c = c == '_' ? '-' : c;
  return option;
}

}  // namespace cove
