#include "base/json_text.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cove
