#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>

#include "cli.h"

namespace {

// `cove` on a terminal of its own, typed to and read from.
class CliTerminal : public Cli {
 protected:
  void start(const std::string& line) {
    winsize size{.ws_row = 30, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    ASSERT_GE(pid_, 0);
    if (pid_ != 0) return;
    execlp("bash", "bash", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  ~CliTerminal() override {
    if (terminal_ >= 0) close(terminal_);
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  void type(const std::string& keys) {
    ASSERT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  // Reads until `text` has been shown since the last call.
  bool shows(const std::string& text) {
    pollfd wait{terminal_, POLLIN, 0};
    while (seen_.find(text) == std::string::npos) {
      char piece[4096];
      const bool readable = poll(&wait, 1, 120'000) == 1;
      const ssize_t n = readable ? ::read(terminal_, piece, sizeof(piece)) : 0;
      if (n <= 0) {
        ADD_FAILURE() << (readable ? "the terminal was closed" : "nothing came") << " after: " << seen_;
        return false;
      }
      seen_.append(piece, static_cast<std::size_t>(n));
    }
    seen_.erase(0, seen_.find(text) + text.size());
    return true;
  }
  int wait_for_end() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string seen_;
};

TEST_F(CliTerminal, AShellKnowsItsSizeFollowsItAndHandsCtrlCInside) {
  run("cove create t -e HOME=$TEST_DIR; echo 'PS1=\"ready> \"' >.bashrc");
  start("cove shell t; echo left $?; stty -a | grep -o -w -e '-echo' -e 'icanon'");
  // Lines are typed at the prompt only, as a person would: what is typed ahead of a Ctrl-C is dropped by terminals.
  EXPECT_TRUE(shows("ready>"));
  type("stty size\r");
  EXPECT_TRUE(shows("30 100") && shows("ready>"));
  const winsize larger{.ws_row = 50, .ws_col = 132, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(terminal_, TIOCSWINSZ, &larger);
  type("until [[ $(stty size) == '50 132' ]]; do sleep 0.05; done; echo grown$((1+1))\r");
  EXPECT_TRUE(shows("grown2") && shows("ready>"));
  // The program itself says that it runs: between two commands of a list a Ctrl-C would be the shell's own affair.
  type("sh -c 'echo go$((1+1)); exec sleep 4806'\r");
  EXPECT_TRUE(shows("go2"));
  type("\x03");
  EXPECT_TRUE(shows("^C") && shows("ready>"));
  type("echo after$((1+1))\r");
  EXPECT_TRUE(shows("after2") && shows("ready>"));
  type("exit 7\r");
  EXPECT_TRUE(shows("left 7"));
  EXPECT_TRUE(shows("icanon")) << "the terminal is as it was before";
  wait_for_end();
}

TEST_F(CliTerminal, CtrlCInterruptsAShCommand) {
  run("cove create t");
  start("cove sh t 'echo go$((1+1)); sleep 4807'; echo left $?");
  EXPECT_TRUE(shows("go2"));
  type("\x03");
  EXPECT_TRUE(shows("[Command interrupted]"));
}

TEST_F(CliTerminal, ExecGivesATerminalAndAnExitCode) {
  run("cove create t");
  start("cove exec t -it -- sh -c 'test -t 0 && test -t 1 && echo is$((1+1)); exit 3'; echo left $?");
  EXPECT_TRUE(shows("is2"));
  EXPECT_TRUE(shows("left 3"));
  EXPECT_EQ(wait_for_end(), 0);
}

}  // namespace
