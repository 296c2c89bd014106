#include "image/json_fields.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "image/image.h"

namespace cove::image {

Result<Json> parse_object(std::string_view text, const std::string& what) {
  Json json = parse_json(text);
  if (!json.is_object()) return fail(Errc::invalid, what + " is no JSON object");
  return json;
}

Failure Fields::wrong(const char* name, std::string_view why) const {
  return fail(Errc::invalid, what_ + ": field '" + name + "' " + std::string(why));
}

const Json* Fields::find(const char* name) const {
  const auto member = object_.find(name);
  return member == object_.end() || member->is_null() ? nullptr : &*member;
}

// A zero byte would end the text early for the kernel, and what was checked would not be what is used.
Result<std::string> Fields::checked(const char* name, const Json& value) const {
  if (!value.is_string()) return wrong(name, "is not a string");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kMostText) return wrong(name, "is too long");
  if (text.find('\0') != std::string::npos) return wrong(name, "has a zero byte");
  return text;
}

Result<std::string> Fields::text(const char* name) const {
  const Json* value = find(name);
  return value == nullptr ? std::string() : checked(name, *value);
}

Result<std::uint64_t> Fields::number(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return 0U;
  if (!value->is_number_unsigned()) return wrong(name, "is not a whole number");
  return value->get<std::uint64_t>();
}

Result<Json> Fields::array(const char* name, std::size_t most) const {
  const Json* value = find(name);
  if (value == nullptr) return Json(Json::array());
  if (!value->is_array()) return wrong(name, "is not a list");
  if (value->size() > most) return wrong(name, "has too many elements");
  return Json(*value);
}

Result<Json> Fields::object(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return Json(Json::object());
  if (!value->is_object()) return wrong(name, "is not an object");
  if (value->size() > kMostStrings) return wrong(name, "has too many elements");
  return Json(*value);
}

Result<std::vector<std::string>> Fields::texts(const char* name) const {
  COVE_TRY(const Json values, array(name, kMostStrings));
  std::vector<std::string> all;
  for (const Json& value : values) {
    COVE_TRY(std::string one, checked(name, value));
    all.push_back(std::move(one));
  }
  return all;
}

Result<std::map<std::string, std::string>> Fields::text_map(const char* name) const {
  COVE_TRY(const Json values, object(name));
  std::map<std::string, std::string> all;
  for (const auto& [key, value] : values.items()) {
    COVE_TRY(const std::string one, checked(name, value));
    COVE_TRY(const std::string known, checked(name, Json(key)));
    all.emplace(known, one);
  }
  return all;
}

Result<std::vector<std::string>> Fields::keys(const char* name) const {
  COVE_TRY(const Json values, object(name));
  std::vector<std::string> all;
  for (const auto& [key, value] : values.items()) {
    COVE_TRY(std::string one, checked(name, Json(key)));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace cove::image
