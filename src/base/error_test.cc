#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace cove {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(Errc::invalid, std::to_string(value) + " is odd");
  return value / 2;
}

Result<int> quarter(int value) {
  COVE_TRY(const int once, half(value));
  COVE_TRY(const int twice, half(once));
  return twice;
}

Result<void> must_be_even(int value) {
  COVE_CHECK(half(value));
  return {};
}

TEST(Error, ReadsAsASentenceWithTheOuterLayerFirst) {
  const Error error = Error{Errc::denied, "create user namespace: Operation not permitted"}.because("start sandbox x");
  EXPECT_EQ(error.text(), "denied: start sandbox x: create user namespace: Operation not permitted");
}

TEST(Error, EveryCodeHasANameOfItsOwn) {
  std::string all;
  for (int code = 0; code <= static_cast<int>(last(Errc{})); ++code) {
    const std::string one = std::string(" ") + std::string(name(static_cast<Errc>(code))) + ",";
    EXPECT_EQ(all.find(one), std::string::npos) << one;
    all += one;
  }
}

TEST(Error, AnErrnoBecomesTheCodeThatSaysWhatToDoNext) {
  EXPECT_EQ(errno_error(ENOENT, "open /nope").text(), "not found: open /nope: No such file or directory");
  EXPECT_EQ(code_of_errno(EEXIST), Errc::conflict);
  EXPECT_EQ(code_of_errno(EACCES), Errc::denied);
  EXPECT_EQ(code_of_errno(EMFILE), Errc::busy);
  EXPECT_EQ(code_of_errno(EPIPE), Errc::disconnected);
  EXPECT_EQ(code_of_errno(EINVAL), Errc::invalid);
  errno = ENOSYS;
  const Result<> result = fail_errno("clone3");
  EXPECT_EQ(result.error().code, Errc::unsupported);
}

TEST(Error, TryBindsTheValueOrHandsTheErrorUp) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_EQ(quarter(5).error().message, "5 is odd");
}

TEST(Error, CheckPassesOnSuccessAndHandsTheErrorUp) {
  EXPECT_TRUE(must_be_even(2));
  EXPECT_EQ(must_be_even(7).error().message, "7 is odd");
}

TEST(Error, TryMovesAValueThatCannotBeCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(4); };
  const auto use = [&]() -> Result<int> {
    COVE_TRY(const auto pointer, make());
    return *pointer;
  };
  EXPECT_EQ(use().value(), 4);
}

}  // namespace
}  // namespace cove
