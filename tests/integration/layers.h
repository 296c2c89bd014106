#pragma once

// The CLI with the native backend and a small real project: a git repository whose test can be made to fail.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli.h"
#include "helpers/home.h"

class Layers : public Cli {
 protected:
  void SetUp() override {
    unsetenv("COVE_BACKEND");
    const std::string programs = std::filesystem::path(cove::testing_helpers::cove_program()).parent_path();
    setenv("PATH", (programs + ":" + std::getenv("PATH")).c_str(), 1);
    const Ran doctor = run("cove doctor native");
    if (doctor.out.find("not usable") != std::string::npos) GTEST_SKIP() << doctor.out;
  }

  // Nobody waits for a command that hangs.
  Ran run(const std::string& line) {
    return Cli::run("shopt -s expand_aliases; alias cove='timeout 300 cove'\n" + line);
  }
  // Must succeed; its output.
  std::string good(const std::string& line) {
    const Ran ran = run(line);
    EXPECT_EQ(ran.code, 0) << line << "\n" << ran.out << ran.err;
    return ran.out;
  }
  // Must fail with exactly one line that has these words; nothing on stdout.
  void refused(const std::string& line, const std::string& words) {
    const Ran ran = run(line);
    EXPECT_NE(ran.code, 0) << line;
    EXPECT_EQ(ran.out, "") << line;
    EXPECT_NE(ran.err.find(words), std::string::npos) << line << ": " << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << line << ": " << ran.err;
  }
  // ./project: `sh test.sh` holds as long as lib.sh adds.
  void make_project() {
    good(R"sh(
      mkdir project && cd project && git init -q . && mkdir src docs
      printf 'add() {\n  echo $(($1 + $2))\n}\n' > src/lib.sh
      printf '. src/lib.sh\n[ "$(add 2 3)" = 5 ]\n' > test.sh
      seq 1 50 > docs/long; printf 'no newline' > docs/short; printf '\0\1\2' > docs/binary
      ln -s ../src/lib.sh docs/link; chmod 755 test.sh
      git add . && git -c user.name=t -c user.email=t@t commit -qm first)sh");
  }
  std::set<std::string> names_in(const std::string& folder) const {
    std::set<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/home/" + folder, none))
      names.insert(entry.path().filename());
    return names;
  }
};
