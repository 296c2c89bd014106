#include "guest/transfer.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "guest/files.h"
#include "guest/init.h"
#include "guest/pieces.h"

namespace cove::guest {
namespace {

void say(int words, const std::string& text) { [[maybe_unused]] const auto n = write(words, text.data(), text.size()); }

// Two processes: one does the work, this one moves its bytes.
void transfer(const proto::FileRequest& request, bool put, int words) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
  auto port = open_port("cove.files");
  std::array<int, 2> ends{};
  if (!port || pipe2(ends.data(), O_CLOEXEC) < 0) {
    const std::string why = port ? "make a pipe" : port.error().message;
    say(words, why);
    return;
  }
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const pid_t worker = fork();
  if (worker == 0) {
    close(ends[put ? 1 : 0]);
    const FileOutcome outcome = run_file_request(request, put ? ends[0] : null.get(), put ? null.get() : ends[1]);
    say(words, outcome.error_text);
    _exit(0);
  }
  close(ends[put ? 0 : 1]);
  if (put)
    take_pieces(port->get(), ends[1]);
  else
    send_pieces(ends[0], port->get());
  close(ends[put ? 1 : 0]);
  waitpid(worker, nullptr, 0);
}

}  // namespace

Result<UniqueFd> start_transfer(const proto::FileRequest& request, bool put) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("make a pipe");
  UniqueFd words(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t mover = fork();
  if (mover < 0) return fail_errno("make a process");
  if (mover == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    transfer(request, put, theirs.get());
    _exit(0);
  }
  return words;
}

}  // namespace cove::guest
