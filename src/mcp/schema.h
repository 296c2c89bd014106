#pragma once

#include "base/error.h"
#include "mcp/message.h"

namespace cove::mcp {

// Whether a value is what a JSON Schema asks for, as far as our own schemas go: type, enum, required, properties,
// additionalProperties, items, minimum, maximum, minLength, maxLength (in bytes), minItems, maxItems. Other words are
// passed over. The error names the place: "arguments.timeout_seconds is above 3600".
Result<void> check_schema(const Json& schema, const Json& value, const std::string& where);

}  // namespace cove::mcp
