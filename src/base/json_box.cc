#include "base/json_box.h"

#include <nlohmann/json.hpp>

namespace cove {

const nlohmann::json* JsonBox::operator->() const {
  static const nlohmann::json kNull;
  return value_ ? value_.get() : &kNull;
}

const nlohmann::json& JsonBox::operator*() const { return *operator->(); }

bool JsonBox::is_null() const { return operator->()->is_null(); }

}  // namespace cove
