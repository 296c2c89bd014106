#pragma once

// A process tree with its three standard descriptors, as the guest holds them.

#include <memory>

#include "guest/tree.h"

namespace cove::guest {

// How the standard descriptors are made.
struct Plumbing {
  bool with_stdin =
      false;           // a pipe; otherwise /dev/null, which programs that look at their stdin take as "nothing there"
  bool split = false;  // stderr has a pipe of its own
  bool pty = false;
  std::uint16_t rows = 24, columns = 80;

  // A prepared shell can be used for a command that wants the same.
  bool same_pipes(const Plumbing& other) const {
    return !pty && !other.pty && with_stdin == other.with_stdin && split == other.split;
  }
};

struct Process {
  std::unique_ptr<Tree> tree;
  UniqueFd input;  // to its stdin; with a pty a duplicate of the master
  UniqueFd out;    // its stdout, both, or the master of the pty
  UniqueFd err;    // only if split
  bool pty = false;
};

// Adds descriptors 0, 1 and 2 to the spec and starts it.
Result<Process> start_process(Trees& trees, os::ExecSpec spec, const Plumbing& plumbing);
// The same for a piece of work of our own, which gets the child's ends of stdin and stdout. The caller's ends are
// closed in it by its exit at the latest.
using FileWork = std::function<Error(int in, int out)>;
Result<Process> start_work(Trees& trees, const FileWork& work, bool with_stdin);

}  // namespace cove::guest
