#include "mcp/schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace cove::mcp {
namespace {

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type != "integer") return false;
  if (value.is_number_integer()) return true;
  // 3.0 is a whole number in JSON Schema, but nobody's handle: asked for again as 3.
  return false;
}

Result<void> check_type(const Json& schema, const Json& value, const std::string& where) {
  const auto type = schema.find("type");
  if (type == schema.end()) return {};
  if (type->is_string()) {
    if (has_type(value, type->get<std::string>())) return {};
    return fail(Errc::invalid, where + " is not of type " + type->get<std::string>());
  }
  for (const Json& one : *type) {
    if (has_type(value, one.get<std::string>())) return {};
  }
  return fail(Errc::invalid, where + " is of none of the types " + json_text(*type));
}

Result<void> check_size(const Json& schema, double size, const std::string& what, const char* least, const char* most) {
  if (schema.contains(least) && size < schema[least].get<double>())
    return fail(Errc::invalid, what + " is below " + json_text(schema[least]));
  if (schema.contains(most) && size > schema[most].get<double>())
    return fail(Errc::invalid, what + " is above " + json_text(schema[most]));
  return {};
}

Result<void> check_object(const Json& schema, const Json& value, const std::string& where) {
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>()))
      return fail(Errc::invalid, where + "." + name.get<std::string>() + " is missing");
  }
  const Json known = schema.value("properties", Json::object());
  const Json others = schema.value("additionalProperties", Json(true));
  for (const auto& [name, member] : value.items()) {
    const std::string inner = where + "." + name.substr(0, 64);
    if (known.contains(name)) {
      COVE_CHECK(check_schema(known[name], member, inner));
    } else if (others == false) {
      return fail(Errc::invalid, inner + " is not known here");
    } else if (others.is_object()) {
      COVE_CHECK(check_schema(others, member, inner));
    }
  }
  return {};
}

}  // namespace

Result<void> check_schema(const Json& schema, const Json& value, const std::string& where) {
  if (!schema.is_object()) return {};
  COVE_CHECK(check_type(schema, value, where));
  if (const auto among = schema.find("enum"); among != schema.end()) {
    if (std::find(among->begin(), among->end(), value) == among->end())
      return fail(Errc::invalid, where + " is none of " + json_text(*among));
  }
  if (value.is_number()) return check_size(schema, value.get<double>(), where, "minimum", "maximum");
  if (value.is_string()) {
    const auto size = static_cast<double>(value.get_ref<const std::string&>().size());
    return check_size(schema, size, "the length of " + where, "minLength", "maxLength");
  }
  if (value.is_array()) {
    COVE_CHECK(check_size(schema, static_cast<double>(value.size()), "the length of " + where, "minItems", "maxItems"));
    const Json items = schema.value("items", Json());
    for (std::size_t i = 0; i < value.size(); ++i)
      COVE_CHECK(check_schema(items, value[i], where + "[" + std::to_string(i) + "]"));
  }
  if (value.is_object()) return check_object(schema, value, where);
  return {};
}

}  // namespace cove::mcp
