#include "base/json_box.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <type_traits>

namespace cove {
namespace {

using Json = nlohmann::json;

TEST(JsonBox, IsNullUntilItHoldsAValueAndAfterItWasMovedFrom) {
  JsonBox box;
  EXPECT_TRUE(box.is_null());
  box = Json{{"a", 1}};
  const JsonBox copy = box;
  EXPECT_EQ(*copy, (Json{{"a", 1}}));
  const JsonBox moved = std::move(box);
  EXPECT_EQ(moved->at("a"), 1);
  EXPECT_TRUE(box.is_null());  // NOLINT(bugprone-use-after-move)
}

// An int or a list would need a second conversion, and a list would not mean what it means for Json.
TEST(JsonBox, IsMadeFromJsonOnly) {
  EXPECT_TRUE((std::is_convertible_v<Json, JsonBox>));
  EXPECT_TRUE((std::is_convertible_v<const Json&, JsonBox>));
  EXPECT_FALSE((std::is_constructible_v<JsonBox, int>));
  EXPECT_FALSE((std::is_constructible_v<JsonBox, std::nullptr_t>));
}

}  // namespace
}  // namespace cove
