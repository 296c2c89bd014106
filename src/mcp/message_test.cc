#include "mcp/message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cove::mcp {
namespace {

Refusal refused(std::string_view text) {
  auto read = read_message(text);
  const auto* refusal = std::get_if<Refusal>(&read);
  EXPECT_NE(refusal, nullptr) << text;
  return refusal != nullptr ? *refusal : Refusal{.code = 0};
}

Message taken(std::string_view text) {
  auto read = read_message(text);
  EXPECT_TRUE(std::holds_alternative<Message>(read)) << text;
  return std::holds_alternative<Message>(read) ? std::get<Message>(read) : Message{};
}

constexpr const char* kModern =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"%s",
       "io.modelcontextprotocol/clientCapabilities":{}}}})";

std::string modern(const std::string& version) {
  std::string text = kModern;
  return text.replace(text.find("%s"), 2, version);
}

TEST(McpMessage, ARequestHasItsIdAsItWasGiven) {
  EXPECT_EQ(*taken(R"({"jsonrpc":"2.0","id":"7","method":"ping"})").id, "7");
  EXPECT_EQ(*taken(R"({"jsonrpc":"2.0","id":7,"method":"ping"})").id, 7);
  EXPECT_EQ(taken(R"({"jsonrpc":"2.0","method":"x"})").kind, Message::Kind::notification);
  EXPECT_EQ(taken(R"({"jsonrpc":"2.0","id":7,"result":{}})").kind, Message::Kind::response);
}

TEST(McpMessage, TheEraIsWhatTheMessageSays) {
  EXPECT_EQ(taken(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1}}})").era,
            Era::legacy);
  EXPECT_EQ(taken(modern("2026-07-28")).era, Era::modern);
}

TEST(McpMessage, AnUnknownModernVersionIsToldWhatThereIs) {
  const Refusal refusal = refused(modern("2031-01-01"));
  EXPECT_EQ(refusal.code, kUnsupportedVersion);
  EXPECT_EQ(refusal.data->at("requested"), "2031-01-01");
  EXPECT_EQ(refusal.data->at("supported")[0], "2026-07-28");
  EXPECT_EQ(*refusal.id, 1);
}

TEST(McpMessage, AModernRequestWithoutCapabilitiesIsRefused) {
  const char* text =
      R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})";
  EXPECT_EQ(refused(text).code, kInvalidParams);
}

TEST(McpMessage, WhatIsNoMessageIsRefused) {
  EXPECT_EQ(refused("").code, kParseError);
  EXPECT_EQ(refused("{").code, kParseError);
  EXPECT_EQ(refused("\"\xff\"").code, kParseError);
  EXPECT_EQ(refused("[]").code, kInvalidRequest);
  EXPECT_EQ(refused(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])").code, kInvalidRequest);
  EXPECT_EQ(refused("7").code, kInvalidRequest);
  EXPECT_EQ(refused("{}").code, kInvalidRequest);
  EXPECT_EQ(refused(R"({"jsonrpc":"1.0","id":1,"method":"ping"})").code, kInvalidRequest);
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":7})").code, kInvalidRequest);
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":"x","params":[1]})").code, kInvalidParams);
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":3}})").code, kInvalidParams);
}

TEST(McpMessage, AnIdIsAWholeNumberOrAShortString) {
  for (const char* id : {"null", "1.5", "{}", "[1]", "true"})
    EXPECT_EQ(refused(R"({"jsonrpc":"2.0","method":"x","id":)" + std::string(id) + "}").code, kInvalidRequest) << id;
  const std::string large(kMostId + 1, 'a');
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","method":"x","id":")" + large + "\"}").code, kInvalidRequest);
}

TEST(McpMessage, DepthAndSizeAreLimited) {
  const std::string deep = std::string(1'000'000, '[');
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":"x","params":)" + deep).code, kParseError);
  EXPECT_EQ(refused(std::string(kMostMessage + 1, ' ')).code, kInvalidRequest);
}

TEST(McpMessage, TextsAreOneLineOfUtf8) {
  const std::string text = result_text(1, {{"output", "a\nb\xff"}});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(Json::parse(text)["result"]["output"], "a\nb\xEF\xBF\xBD");
}

}  // namespace
}  // namespace cove::mcp
