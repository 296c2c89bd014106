#include "policy/sudo.h"

#include <gtest/gtest.h>

namespace cove::policy {
namespace {

std::string rewritten(std::string_view text) {
  const SudoRewrite result = sudo_reads_stdin(text, parse_shell(text));
  return std::to_string(result.count) + " " + result.text;
}

TEST(Sudo, EverySudoThatRunsReadsStdin) {
  EXPECT_EQ(rewritten("sudo a && sudo b"), "2 sudo -S -p '' a && sudo -S -p '' b");
  EXPECT_EQ(rewritten("env X=1 sudo y"), "1 env X=1 sudo -S -p '' y");
  EXPECT_EQ(rewritten("X=1 sudo y; (sudo z)"), "2 X=1 sudo -S -p '' y; (sudo -S -p '' z)");
  EXPECT_EQ(rewritten("echo $(sudo a) `sudo b`"), "2 echo $(sudo -S -p '' a) `sudo -S -p '' b`");
  EXPECT_EQ(rewritten("/usr/bin/sudo a"), "1 /usr/bin/sudo -S -p '' a");
}

TEST(Sudo, TextAndWhatHasItsOwnWayStay) {
  for (const char* text : {"echo \"sudo x\"", "echo sudo x", "# sudo x", "cat <<E\nsudo x\nE\n", "sudo -n x",
                           "sudo -S x", "sh -c 'sudo x'", "a | xargs sudo b", "git commit -m 'sudo x'", ""}) {
    EXPECT_EQ(rewritten(text), "0 " + std::string(text));
  }
}

}  // namespace
}  // namespace cove::policy
