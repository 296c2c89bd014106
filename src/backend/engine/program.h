#pragma once

// A container engine as the program its users already have: found, run without a shell, never waited for without end.

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "os/child.h"

namespace cove::engine {

struct Said {
  int code = -1;
  std::string out, err;  // at most kMostSaid bytes each
};
inline constexpr std::size_t kMostSaid = std::size_t{4} << 20;

std::vector<std::string> lines_of(const std::string& text);

// How long an engine may take over a plain call: $COVE_ENGINE_TIMEOUT seconds, usually 60.
Deadline call_deadline();

// One call that runs. Destroying it kills the program, not what the engine is doing on its behalf.
class [[nodiscard]] Call {
 public:
  int pidfd() const { return child_.pidfd(); }  // readable when it has ended
  // timeout: it hangs; it is killed.
  Result<Said> wait(Deadline deadline);

 private:
  friend class Program;
  Call(std::string shown, os::Child child, UniqueFd out, UniqueFd err)
      : shown_(std::move(shown)), child_(std::move(child)), out_(std::move(out)), err_(std::move(err)) {}

  std::string shown_;
  os::Child child_;
  UniqueFd out_, err_;  // files in memory: a program that says much never waits for us
};

class Program {
 public:
  // `wanted` is a path or a name for PATH; "": `kind` itself ("docker", "podman"), on PATH and in the usual places.
  static Result<Program> find(const std::string& kind, const std::string& wanted);
  // At this path, with these variables in place of this process's own.
  Program(std::string kind, std::string path, const std::vector<std::string>& variables);

  const std::string& kind() const { return kind_; }
  const std::string& path() const { return path_; }
  // What decides which engine answers: DOCKER_HOST and its like, as K=V.
  const std::vector<std::string>& address() const { return address_; }
  std::string value(std::string_view variable) const;

  Result<Call> begin(const std::vector<std::string>& args) const;
  // With this socket as its stdin and stdout; what it says otherwise goes to `err`, or nowhere (-1).
  Result<os::Child> attach(const std::vector<std::string>& args, int socket, int err = -1) const;
  Result<Said> run(const std::vector<std::string>& args, Deadline deadline) const;
  // What it said, without the last newline; an exit code other than 0 is an error that explains itself (explain.h).
  Result<std::string> ask(const std::vector<std::string>& args, Deadline deadline) const;

 private:
  os::ExecSpec spec(const std::vector<std::string>& args) const;

  std::string kind_, path_;
  std::vector<std::string> env_, address_;
};

}  // namespace cove::engine
