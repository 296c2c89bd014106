#include "proto/launch.h"

#include <gtest/gtest.h>

#include "spec/filled_spec.h"

namespace cove::proto {
namespace {

TEST(Launch, EveryFieldThatIsSentSurvivesTheWire) {
  const LaunchRequest request{.restart = true, .spec = testing_helpers::filled_spec(), .forget = true};
  auto again = decode<LaunchRequest>(encode(request));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->restart);
  EXPECT_TRUE(again->forget);
  EXPECT_EQ(encode(*again), encode(request));
  EXPECT_EQ(again->spec.env, request.spec.env);
  EXPECT_EQ(again->spec.cpus, request.spec.cpus);
  EXPECT_EQ(again->spec.options, request.spec.options);
  EXPECT_FALSE(decode<LaunchRequest>("junk"));
}

}  // namespace
}  // namespace cove::proto
