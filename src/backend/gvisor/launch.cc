#include "backend/gvisor/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "os/clone.h"

namespace cove::gvisor {
namespace {

constexpr std::uint64_t kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr std::size_t kMostWords = 400;

}  // namespace

Result<Launched> launch(RunscPlan& plan, const std::string& program, const os::Users& users, Network network,
                        const os::LimitGroup* limits, Deadline deadline) {
  const UniqueFd opened(open(program.c_str(), O_PATH | O_CLOEXEC));
  if (!opened) return fail_errno("open " + program);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  UniqueFd log(memfd_create("cove-runsc-log", MFD_CLOEXEC));
  int ends[2];
  if (!null || !log || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return fail_errno("make a socket for runsc");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  plan.program = opened.get();
  plan.null = null.get();
  plan.log = log.get();
  plan.sync = theirs.get();
  plan.keepers_sync = ours.get();
  COVE_TRY(os::Cloned cloned, os::clone_process(kNamespaces | (network == Network::own ? CLONE_NEWNET : 0U)));
  if (cloned.pid == 0) {
    enter(plan);
    _exit(1);
  }
  os::Child child = os::Child::adopt(cloned.pid, std::move(cloned.pidfd));
  theirs.reset();
  if (limits != nullptr) COVE_CHECK(limits->add(child.pid()));
  COVE_CHECK(os::map_users(users, child.pid(), deadline));
  if (auto gone_on = native::let_go(ours.get(), plan, child.pid()); !gone_on) {
    native::StepFailure failure{};  // of a step that needs nobody's leave
    if (recv(ours.get(), &failure, sizeof(failure), MSG_DONTWAIT) == sizeof(failure))
      return fail(explain(failure, plan));
    return fail(std::move(gone_on).error());
  }
  return Launched{std::move(child), std::move(ours), std::move(log)};
}

// Lines of JSON, of which the last error is the cause; what it is not is left out.
std::string last_words(int log) {
  std::array<char, 16384> bytes{};
  const off_t size = lseek(log, 0, SEEK_END);
  const off_t from = size > static_cast<off_t>(bytes.size()) ? size - static_cast<off_t>(bytes.size()) : 0;
  const ssize_t n = size > 0 ? pread(log, bytes.data(), bytes.size(), from) : 0;
  std::string text(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0), words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto line = nlohmann::json::parse(text.substr(0, end), nullptr, false);
    text.erase(0, end + 1);
    if (!line.is_object() || !line.contains("level") || !line.contains("msg") || !line["msg"].is_string()) continue;
    if (line["level"] == "error" || line["level"] == "warning") words = line["msg"].get<std::string>();
  }
  for (char& c : words) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return words.substr(0, kMostWords);
}

}  // namespace cove::gvisor
