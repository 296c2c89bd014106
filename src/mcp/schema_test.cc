#include "mcp/schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cove::mcp {
namespace {

const Json kSchema = Json::parse(R"({"type": "object", "additionalProperties": false, "required": ["name"],
  "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 5}, "count": {"type": "integer", "minimum": 1, "maximum": 9},
  "kind": {"enum": ["a", "b"]}, "maybe": {"type": ["integer", "null"]},
  "list": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
  "env": {"type": "object", "additionalProperties": {"type": "string"}}}})");

std::string why(const char* value) {
  const auto checked = check_schema(kSchema, Json::parse(value), "arguments");
  return checked ? "" : checked.error().message;
}

TEST(McpSchema, WhatIsAskedForIsTaken) {
  EXPECT_EQ(why(R"({"name": "x", "count": 9, "kind": "b", "maybe": null, "list": ["a"], "env": {"K": "v"}})"), "");
}

TEST(McpSchema, TheErrorNamesThePlace) {
  EXPECT_EQ(why("{}"), "arguments.name is missing");
  EXPECT_EQ(why(R"({"name": 3})"), "arguments.name is not of type string");
  EXPECT_EQ(why(R"({"name": ""})"), "the length of arguments.name is below 1");
  EXPECT_EQ(why(R"({"name": "abcdef"})"), "the length of arguments.name is above 5");
  EXPECT_EQ(why(R"({"name": "x", "count": 10})"), "arguments.count is above 9");
  EXPECT_EQ(why(R"({"name": "x", "count": -1})"), "arguments.count is below 1");
  EXPECT_EQ(why(R"({"name": "x", "count": 1.5})"), "arguments.count is not of type integer");
  EXPECT_EQ(why(R"({"name": "x", "kind": "c"})"), "arguments.kind is none of [\"a\",\"b\"]");
  EXPECT_EQ(why(R"({"name": "x", "other": 1})"), "arguments.other is not known here");
  EXPECT_EQ(why(R"({"name": "x", "list": ["a", 2]})"), "arguments.list[1] is not of type string");
  EXPECT_EQ(why(R"({"name": "x", "list": ["a", "b", "c"]})"), "the length of arguments.list is above 2");
  EXPECT_EQ(why(R"({"name": "x", "env": {"K": 1}})"), "arguments.env.K is not of type string");
}

}  // namespace
}  // namespace cove::mcp
