#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

// A directory and a COVE_HOME of its own for each test; whatever sandbox is left is removed, and nothing may stay.
class Cli : public testing::Test {
 protected:
  struct Ran {
    int code = -1;
    std::string out, err;
  };

  Cli() {
    std::string form = testing::TempDir() + "cove-cli-XXXXXX";
    directory_ = mkdtemp(form.data());
    std::filesystem::create_directory(directory_ + "/work");
    setenv("COVE_HOME", (directory_ + "/home").c_str(), 1);
    setenv("XDG_CONFIG_HOME", (directory_ + "/config").c_str(), 1);
    // A home of its own: the start-up files of whoever runs the tests must not decide how they go.
    setenv("HOME", (directory_ + "/work").c_str(), 1);
    setenv("PATH", (COVE_TEST_PROGRAM_DIR ":" + original_path()).c_str(), 1);
    setenv("COVE_BACKEND", "local", 1);  // commands see the test's directory
    setenv("TEST_DIR", (directory_ + "/work").c_str(), 1);
    setenv("NAP", ("4800." + std::to_string(getpid())).c_str(), 1);  // for `sleep`: known by it among all processes
  }
  ~Cli() override {
    run("cove rm --force $(cove ls --names)");
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
    EXPECT_FALSE(error) << "something was written after the last sandbox had ended: " << error.message();
  }

  // A line for bash, in the test's directory.
  Ran run(const std::string& line) {
    std::ofstream(directory_ + "/line") << "cd \"$TEST_DIR\" || exit 99\n" << line << "\n";
    const std::string shell =
        "bash " + directory_ + "/line >" + directory_ + "/out 2>" + directory_ + "/err </dev/null";
    const int status = std::system(shell.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read("/out"), read("/err")};
  }
  // For run(): waits until no `sleep $NAP` is there; says so if there is one for ever.
  static constexpr const char* kNapIsOver =
      "for i in $(seq 3000); do pgrep -fx \"sleep $NAP\" >/dev/null || exit 0; sleep 0.02; done; echo it sleeps on\n";
  std::string read(const std::string& path) const {
    std::ostringstream text;
    text << std::ifstream(directory_ + path).rdbuf();
    return text.str();
  }

  std::string directory_;

 private:
  static const std::string& original_path() {
    static const std::string path = std::getenv("PATH");
    return path;
  }
};
