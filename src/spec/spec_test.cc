#include "spec/spec.h"

#include <gtest/gtest.h>

#include "spec/filled_spec.h"

namespace cove {
namespace {

TEST(Spec, CopyFieldsTakesThoseWithTheUseAndNoOthers) {
  const SandboxSpec from = testing_helpers::filled_spec();
  SandboxSpec to;
  copy_fields(to, from, kKind);
  EXPECT_EQ(to.backend, from.backend);
  EXPECT_EQ(to.options, from.options);
  EXPECT_EQ(to.sys, from.sys);
  EXPECT_EQ(to.name, "");
  EXPECT_EQ(to.memory_bytes, 0U);
}

TEST(Spec, ADifferenceIsOnlyOneThatIsWanted) {
  SandboxSpec was, wanted;
  was.memory_bytes = 5;
  EXPECT_EQ(first_difference(wanted, was, kFixed), "");
  wanted.memory_bytes = 5;
  EXPECT_EQ(first_difference(wanted, was, kFixed), "");
  wanted.memory_bytes = 6;
  EXPECT_EQ(first_difference(wanted, was, kFixed), "memory_bytes");
  wanted.net = "full";
  EXPECT_EQ(first_difference(wanted, was, kFixed), "net");
  EXPECT_EQ(first_difference(wanted, was, kKind), "");
}

TEST(Spec, AFieldsOptionIsNamedAsOnTheCommandLine) {
  EXPECT_EQ(option_of_field("memory_bytes"), "--memory");
  EXPECT_EQ(option_of_field("idle_timeout_ms"), "--idle-timeout");
  EXPECT_EQ(option_of_field("volumes"), "--volume");
}

TEST(Spec, AnOptionHasOneValue) {
  SandboxSpec spec;
  spec.set_option("kernel", "a");
  spec.set_option("kernel", "b");
  EXPECT_EQ(spec.option("kernel"), "b");
  EXPECT_EQ(spec.options.size(), 1U);
  EXPECT_EQ(spec.option("accel"), "");
}

}  // namespace
}  // namespace cove
