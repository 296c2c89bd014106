#pragma once

// The contract's cases as tests: one sandbox per test program, one session per test.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "client/cove.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "helpers/yardstick.h"

namespace cove::conformance {

using namespace std::chrono_literals;
using testing_helpers::eventually;
using testing_helpers::home;
using testing_helpers::kPatience;
using testing_helpers::make_spec;
using testing_helpers::Seconds;
using testing_helpers::set_env;
using testing_helpers::too_slow;

// What a command did, with its output apart and together, in the order in which it came.
struct Ran {
  Outcome outcome;
  std::string output;                                  // both streams, true order
  std::string out, err;                                // each stream
  std::vector<std::pair<Stream, std::string>> pieces;  // neighbours of one stream joined
  Seconds took{0}, timeout{0};

  int code() const { return outcome.exit_code; }
  bool exited(int code) const { return outcome.ending == Ending::exited && outcome.exit_code == code; }
};

// Runs a command to its end. An Error, which no case expects, fails the test and gives an outcome `lost`.
Ran run(Sandbox& sandbox, const CommandSpec& command, CommandIo io = {}, Call call = {});
// The same for a command that its timeout is to end after it has made all files of `ready`, none of which is empty. It
// has 1 s for that; a machine that is too slow gets twice as long in another try.
Ran run_to_timeout(Sandbox& sandbox, CommandSpec command, const std::vector<std::string>& ready = {});

// A sandbox for a test that needs its own; fails the test if it cannot be made.
Sandbox create(const SandboxSpec& spec);
// The program's shared one, made at first use, gone before the check that nothing is left.
Sandbox& shared_sandbox();
void drop_shared_sandbox();

// What some places cannot do, found out once by trying; "": it can.
std::string why_not_seen_by_host();    // the processes inside are none of this kernel's
std::string why_orphans_are_lost();    // the kernel inside has no subreapers: an orphan is no command's any more
std::string why_processes_are_slow();  // the kernel inside takes longer to start a program than a command may take
std::string why_no_ls();               // the kernel inside refuses what today's coreutils ask of it

// How much the largest output of a command is; less where bytes are slow.
std::uint64_t big_bytes();

// The shell's word for a string.
std::string quoted(const std::string& text);
std::string printable(const Ran& ran);  // for failure messages

class Contract : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  virtual Sandbox& sandbox() { return shared_sandbox(); }

  // In this test's session.
  Ran sh(const std::string& script) { return sh(CommandSpec{.script = script}); }
  Ran sh(CommandSpec command, CommandIo io = {}, Call call = {});
  Ran sh_with_stdin(const std::string& script, std::string_view bytes);
  // As run_to_timeout; `ready` are names of files in scratch.
  Ran sh_to_timeout(const std::string& script, const std::vector<std::string>& ready = {});
  std::string start(const std::string& script);  // in the background; its id
  CommandSpec command(const std::string& script) const;

  // A directory inside, made for this test and removed after it; the session starts there.
  const std::string& scratch() const { return scratch_; }
  // Inside, by a session of its own: is this process there and not a zombie?
  bool alive_inside(const std::string& pid);
  bool dies_inside(const std::string& pid);
  std::string read_inside(const std::string& name);  // a file of scratch, without its last newline
  bool appears_inside(const std::string& name);      // such a file, not empty

 private:
  std::string session_, scratch_;
};

}  // namespace cove::conformance

// Exit code and the whole output, byte by byte.
#define EXPECT_RAN(ran, code_, output_)                                                             \
  do {                                                                                              \
    const ::cove::conformance::Ran& ran_ = (ran);                                                   \
    EXPECT_EQ(ran_.outcome.ending, ::cove::Ending::exited) << ::cove::conformance::printable(ran_); \
    EXPECT_EQ(ran_.outcome.exit_code, code_) << ::cove::conformance::printable(ran_);               \
    EXPECT_EQ(ran_.output, output_) << ::cove::conformance::printable(ran_);                        \
  } while (false)
