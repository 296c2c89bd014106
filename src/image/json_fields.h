#pragma once

// Fields of a JSON object that nobody vouches for: of the expected type and within limits, or an error with their name.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::image {

using Json = nlohmann::json;

// `what` begins every error: "the image config". An object, or an error.
Result<Json> parse_object(std::string_view text, const std::string& what);

class Fields {
 public:
  // A member that is missing or null is empty (or 0). `object` is lent.
  Fields(const Json& object, std::string what) : object_(object), what_(std::move(what)) {}

  Result<std::string> text(const char* name) const;
  Result<std::uint64_t> number(const char* name) const;
  Result<std::vector<std::string>> texts(const char* name) const;
  Result<std::map<std::string, std::string>> text_map(const char* name) const;
  Result<std::vector<std::string>> keys(const char* name) const;  // of an object; its values mean nothing
  // A member that is an object (an empty one if missing) or an array.
  Result<Json> object(const char* name) const;
  Result<Json> array(const char* name, std::size_t most) const;
  // Says which field is wrong, and how.
  Failure wrong(const char* name, std::string_view why) const;

 private:
  const Json* find(const char* name) const;
  Result<std::string> checked(const char* name, const Json& value) const;

  const Json& object_;
  std::string what_;
};

}  // namespace cove::image
