#pragma once

#include "client/cove.h"
#include "session/dialect.h"  // quote

namespace cove::selftest {

// How an act inside went. With `trouble` it is not known whether it took place.
struct Ran {
  Ending ending = Ending::lost;
  int code = -1, signal = 0;
  std::string output;
  std::string trouble;
  bool gone = false;  // the sandbox does not answer any more
};

// A sandbox with the program `cove-attempt` in a directory of its own.
class Inside {
 public:
  // `program` is its content.
  static Result<Inside> make(const SandboxSpec& spec, const std::string& program, const Call& call);
  // One that exists; its own sessions are left alone.
  static Result<Inside> enter(Sandbox sandbox, const std::string& program, const Call& call);
  Result<void> leave(const Call& call);  // removes the directory

  Sandbox& sandbox() { return sandbox_; }
  const std::string& directory() const { return directory_; }  // writable, empty but for the program
  std::string program() const { return directory_ + "/cove-attempt"; }

  enum class On : unsigned char { pipes, terminal };
  Ran act(const std::vector<std::string>& words, const Call& call, On on = On::pipes);
  Ran shell(const std::string& script, const Call& call);

 private:
  Inside(Sandbox sandbox, std::string directory) : sandbox_(std::move(sandbox)), directory_(std::move(directory)) {}
  Ran run(const CommandSpec& command, const Call& call);

  Sandbox sandbox_;
  std::string directory_;
};

}  // namespace cove::selftest
