#include "base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cove {
namespace {

TEST(JsonText, BytesThatAreNoUtf8AreReplacedAndNothingThrows) {
  const std::string text = json_text({{"name",
                                       "a\xff"
                                       "b"}});
  EXPECT_EQ(text,
            "{\"name\":\"a\xef\xbf\xbd"
            "b\"}");
  EXPECT_EQ(json_text({{"n", 1}}, 2), "{\n  \"n\": 1\n}");
}

TEST(JsonText, WhatIsNestedBeyondReasonIsNoJson) {
  const auto nested = [](std::size_t depth) {
    return "{\"list\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_TRUE(parse_json(nested(99)).is_object());
  for (const std::size_t depth : {100U, 100'000U, 2'000'000U}) EXPECT_TRUE(parse_json(nested(depth)).is_discarded());
  EXPECT_TRUE(parse_json(std::string(1'000'000, '{')).is_discarded());
  EXPECT_TRUE(parse_json("{").is_discarded());
  const auto brackets = parse_json("[\"" + std::string(200, '[') + "\\\"{{\"]");
  ASSERT_TRUE(brackets.is_array()) << "in a text they are letters";
  EXPECT_EQ(brackets[0].get<std::string>().size(), 203U);
}

}  // namespace
}  // namespace cove
