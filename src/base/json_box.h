#pragma once

#include <concepts>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <utility>

namespace cove {

// A JSON value as a member of a struct in a header. Headers include only json_fwd.hpp, because <nlohmann/json.hpp>
// takes seconds to compile; a source that reads or makes the value includes it. The value is constant, copies share it.
class JsonBox {
 public:
  JsonBox() = default;  // null; so is a box that was moved from
  // A template, because it takes no braced list: of {{"a", 1}} it would make the array ["a", 1], not an object.
  template <std::same_as<nlohmann::json> Json>
  JsonBox(Json value) : value_(std::make_shared<const Json>(std::move(value))) {}

  bool is_null() const;
  const nlohmann::json& operator*() const;
  const nlohmann::json* operator->() const;

 private:
  std::shared_ptr<const nlohmann::json> value_;
};

}  // namespace cove
