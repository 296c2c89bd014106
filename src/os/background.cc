#include "os/background.h"

#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "os/exec.h"

namespace cove::os {
namespace {

// By number, because waiting for any child would take the status of those that others wait for. A second fork would
// not do: who is a subreaper gets the orphan back.
std::vector<pid_t>& working() {
  static std::vector<pid_t> pids;
  return pids;
}

}  // namespace

void run_in_background(const std::function<void()>& work) {
  reap_background();
  const pid_t child = fork();
  if (child == 0) {
    close_other_fds({}, -1);
    work();
    _exit(0);
  }
  if (child > 0) working().push_back(child);
}

void reap_background() {
  std::erase_if(working(), [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

}  // namespace cove::os
