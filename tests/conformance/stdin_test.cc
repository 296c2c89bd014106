// E: stdin, cases 61-66.

#include <cstdlib>

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

std::string all_bytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

TEST_F(Contract, Case061_WithoutStdinAReaderSeesTheEndAtOnce) {
  const Ran ran = sh("cat");
  EXPECT_RAN(ran, 0, "");
  EXPECT_LT(ran.took, kPatience);
}

TEST_F(Contract, Case062_InvalidUtf8IsPassedByteExact) {
  EXPECT_RAN(sh_with_stdin("cat", "\xff\xfe\x80 \xc3("), 0, "\xff\xfe\x80 \xc3(");
  EXPECT_RAN(sh_with_stdin("cat", all_bytes()), 0, all_bytes());
}

TEST_F(Contract, Case063_100MegabytesToAProgramThatReadsNothing) {
  const std::string much(100'000'000, 'x');
  EXPECT_RAN(sh_with_stdin("true", much), 0, "");
}

// COVE_TEST_STDIN_BYTES: less of it, where the way inside leads through two translated kernels.
TEST_F(Contract, Case063_100MegabytesArriveWhole) {
  const char* wanted = std::getenv("COVE_TEST_STDIN_BYTES");
  const std::string much(wanted != nullptr ? std::stoul(wanted) : 100'000'000, 'x');
  EXPECT_RAN(sh_with_stdin("wc -c", much), 0, std::to_string(much.size()) + "\n");
}

TEST_F(Contract, Case064_EveryReaderOfACommandSharesItsStdin) {
  EXPECT_RAN(sh_with_stdin("read a; read b; echo $a$b", "l1\nl2\n"), 0, "l1l2\n");
  EXPECT_RAN(sh_with_stdin("read a; read b; echo $a$b", "l1\nl2"), 0, "l1l2\n");
  EXPECT_RAN(sh_with_stdin("read a; cat", "l1\nl2\nl3"), 0, "l2\nl3");
}

TEST_F(Contract, Case065_StdinIsNeverExecuted) {
  EXPECT_RAN(sh_with_stdin("echo hi # c", "echo PWN\n"), 0, "hi\n");
  EXPECT_RAN(sh_with_stdin("", "echo PWN\n"), 0, "");
  EXPECT_RAN(sh_with_stdin("exit 3", "echo PWN\n"), 3, "");
  EXPECT_RAN(sh("echo on"), 0, "on\n");
}

TEST_F(Contract, Case066_DelimitersNulAndAMissingNewlineArriveExactly) {
  for (const std::string& bytes : {std::string("EOF\nE\n"), std::string("a\0b", 3), std::string("no newline"),
                                   std::string("\n\n"), std::string("COVE_STDIN_0123456789ab\n'\"$(id)\n")}) {
    EXPECT_RAN(sh_with_stdin("cat", bytes), 0, bytes);
    EXPECT_RAN(sh_with_stdin("cat | cat", bytes), 0, bytes);
  }
}

}  // namespace
}  // namespace cove::conformance
