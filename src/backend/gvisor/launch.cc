#include "backend/gvisor/launch.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "backend/engine/meaning.h"

namespace cove::gvisor {
namespace {

constexpr std::uint64_t kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

}  // namespace

Result<Launched> launch(RunscPlan& plan, const std::string& program, const os::Users& users, Network network,
                        const os::LimitGroup* limits, Deadline deadline) {
  const std::uint64_t namespaces = kNamespaces | (network == Network::own ? CLONE_NEWNET : 0U);
  COVE_TRY(Launched launched, native::launch(plan, {program, namespaces, steps_of(plan), users, limits}, deadline));
  if (auto gone_on = native::let_go(launched.sync.get(), plan, launched.child.pid()); !gone_on) {
    native::StepFailure failure{};  // of a step that needs nobody's leave
    if (recv(launched.sync.get(), &failure, sizeof(failure), MSG_DONTWAIT) == sizeof(failure))
      return fail(explain(failure, plan));
    return fail(std::move(gone_on).error());
  }
  return launched;
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
  return engine::quotable(std::move(words));
}

}  // namespace cove::gvisor
