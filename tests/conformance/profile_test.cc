// B, second half: start-up files, and where state does not lie. Cases 32-36.

#include <filesystem>
#include <fstream>

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

namespace fs = std::filesystem;

// Tests that need a home directory of their own inside.
class Profile : public ::testing::Test {
 protected:
  // A sandbox whose home has this .bash_profile.
  Sandbox with_profile(const std::string& text) {
    static int number = 0;
    const std::string directory = home().make_directory("profile" + std::to_string(++number));
    std::ofstream(directory + "/.bash_profile") << text;
    std::ofstream(directory + "/.profile") << text;
    SandboxSpec spec = make_spec();
    set_env(spec, "HOME", testing_helpers::shown_inside(spec, directory));
    cwd_ = spec.cwd;
    return create(spec);
  }
  std::string cwd_;
};

TEST_F(Profile, Case032_ABannerIsNobodysOutputAndTheDirectoryIsTheConfiguredOne) {
  Sandbox sandbox = with_profile("echo BANNER; echo ERR >&2; cd ~; export FROM_PROFILE=1\n");
  EXPECT_RAN(run(sandbox, {.script = "pwd; echo $FROM_PROFILE"}), 0, cwd_ + "\n1\n");
  EXPECT_RAN(run(sandbox, {.script = "echo hi", .session = "other"}), 0, "hi\n");
}

TEST_F(Profile, Case033_ABrokenProfileNeverBreaksTheTerminal) {
  const char* broken[] = {
      "exit 1\n",
      "exec false\n",
      "exec /nonexistent\n",
      "set -e; false\n",
      "kill -9 $$\n",
      "kill -TERM $$\n",
      "echo 'unbal\n",
      "if then\n",
      "return 1\n",
      "export PATH=/nonexistent\n",
      "exec >&- 2>&- <&-\n",
      "set -x; set -v\n",
      "trap 'echo TRAP' EXIT DEBUG\n",
      "eval(){ :; }; builtin(){ :; }; declare(){ :; }; trap(){ :; }; exit(){ :; }\n",
      "exec cat\n",
      "sleep 1000 &\n",
      "while read -r line; do :; done\n",
  };
  for (const char* text : broken) {
    SCOPED_TRACE(text);
    Sandbox sandbox = with_profile(text);
    EXPECT_RAN(run(sandbox, {.script = "echo hi"}), 0, "hi\n");
    EXPECT_RAN(run(sandbox, {.script = "V=1; cd /"}), 0, "");
    EXPECT_RAN(run(sandbox, {.script = "echo $V; pwd"}), 0, "1\n/\n");
  }
}

TEST_F(Contract, Case034_ThereIsNoStateFileThatCouldBeDeleted) {
  EXPECT_RAN(sh("touch mark; export KEEP=1; kept(){ echo kept; }"), 0, "");
  EXPECT_RAN(sh("find \"${TMPDIR:-/tmp}\" \"$HOME\" -newer mark -type f 2>/dev/null"), 0, "");
  EXPECT_RAN(sh("kept; echo $KEEP"), 0, "kept\n1\n");
}

// Every regular file below `directory` that contains `text`, or that others may read. The files of sandboxes have the
// modes that they have inside; there the directory above them is private.
std::string exposed(const std::string& directory, const std::string& text) {
  std::string found;
  for (const auto& entry : fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied)) {
    if (!entry.is_regular_file() && !entry.is_directory()) continue;
    const auto mode = entry.status().permissions();
    const std::string path = entry.path().string();
    const bool inside = path.find("/fs/") != std::string::npos || path.find("/images/") != std::string::npos ||
                        path.ends_with("/channel") ||  // whoever the image's user is makes a socket there
                        // a kernel and our own guest, which QEMU reads as nobody
                        path.find("/microvm/kernels/") != std::string::npos ||
                        path.find("/microvm/initrds/") != std::string::npos;
    if (!inside && (mode & (fs::perms::group_all | fs::perms::others_all)) != fs::perms::none)
      found += entry.path().string() + " is not private\n";
    if (entry.is_regular_file() && testing_helpers::slurp(entry.path()).find(text) != std::string::npos) {
      found += entry.path().string() + " holds a secret\n";
    }
  }
  return found;
}

TEST_F(Contract, Case035_NoSecretIsOnDiskAndOursIsPrivateWhateverTheUmask) {
  EXPECT_RAN(sh("umask 000; export SECRET=xyzzy$((6*7))plugh"), 0, "");
  EXPECT_RAN(sh("echo $SECRET"), 0, "xyzzy42plugh\n");
  EXPECT_EQ(exposed(home().path(), "xyzzy42plugh"), "");
  EXPECT_TRUE(sh("! grep -rlF \"$SECRET\" \"${TMPDIR:-/tmp}\" \"$HOME\" 2>/dev/null").exited(0));
}

TEST_F(Contract, Case036_OurVariablesAreNeverVisibleElsewhere) {
  EXPECT_RAN(sh("export COVE_INTERNAL_X=1"), 0, "");
  EXPECT_RAN(run(sandbox(), {.script = "echo [$COVE_INTERNAL_X]; env | grep -c ^COVE_", .session = "stranger"}), 1,
             "[]\n0\n");
}

}  // namespace
}  // namespace cove::conformance
