#include "guest/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "os/pty.h"

namespace cove::guest {
namespace {

struct PipeEnds {
  UniqueFd in, out;
};

// `ours` becomes non-blocking, the child's end stays as programs expect it.
Result<PipeEnds> make_pipe(bool we_read) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("make a pipe");
  PipeEnds made{UniqueFd(ends[0]), UniqueFd(ends[1])};
  fcntl(we_read ? made.in.get() : made.out.get(), F_SETFL, O_NONBLOCK);
  return made;
}

struct ChildEnds {
  UniqueFd in, out, err;
};

Result<ChildEnds> make_pipes(Process& process, const Plumbing& plumbing) {
  ChildEnds child;
  if (plumbing.with_stdin) {
    COVE_TRY(PipeEnds input, make_pipe(false));
    child.in = std::move(input.in);
    process.input = std::move(input.out);
  } else {
    child.in.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!child.in) return fail_errno("open /dev/null");
  }
  COVE_TRY(PipeEnds out, make_pipe(true));
  process.out = std::move(out.in);
  child.out = std::move(out.out);
  if (plumbing.split) {
    COVE_TRY(PipeEnds err, make_pipe(true));
    process.err = std::move(err.in);
    child.err = std::move(err.out);
  }
  return child;
}

}  // namespace

Result<Process> start_process(Trees& trees, os::ExecSpec spec, const Plumbing& plumbing) {
  Process process;
  ChildEnds child;
  spec.new_session = true;
  if (plumbing.pty) {
    COVE_TRY(os::Pty pty, os::open_pty(plumbing.rows, plumbing.columns));
    process.pty = spec.controlling_terminal = true;
    process.input.reset(fcntl(pty.master.get(), F_DUPFD_CLOEXEC, 0));
    process.out = std::move(pty.master);
    child.in = std::move(pty.slave);
  } else {
    COVE_TRY(child, make_pipes(process, plumbing));
  }
  const int out = plumbing.pty ? child.in.get() : child.out.get();
  spec.fds.push_back({child.in.get(), 0});
  spec.fds.push_back({out, 1});
  spec.fds.push_back({child.err ? child.err.get() : out, 2});
  COVE_TRY(process.tree, Tree::start(trees, std::move(spec)));
  return process;
}

Result<Process> start_work(Trees& trees, const FileWork& work, bool with_stdin) {
  Process process;
  COVE_TRY(ChildEnds child, make_pipes(process, {.with_stdin = with_stdin}));
  COVE_TRY(process.tree, Tree::start(trees, [&] {
             process.input.reset();
             process.out.reset();
             signal(SIGPIPE, SIG_IGN);
             return work(child.in.get(), child.out.get());
           }));
  return process;
}

}  // namespace cove::guest
