// What those who started a command have left open, and what they know.

#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kDescriptorsGroup = "leak descriptors and environment";

Verdict of_session(Stage& stage) {
  auto place = stage.inside();
  if (!place) return broken("could not be tried: " + place.error().text());
  return judge(stage.shell(session::quote((*place)->program()) + " own_descriptors"));
}

Verdict of_terminal(Stage& stage) { return judge(stage.act({"own_descriptors"}, Inside::On::terminal)); }

// Only keepers have the secret under this name.
std::string in_keeper(Stage& stage) { return Stage::kVariable + std::string("=") + stage.bait().secret(); }

Verdict in_command(Stage& stage) { return stage.tried({"environment", stage.bait().secret()}); }
Verdict in_guest(Stage& stage) { return stage.tried({"guest_environment", stage.bait().secret()}); }
Verdict in_any(Stage& stage) { return stage.tried({"find_process", "environ", in_keeper(stage)}); }

Verdict in_session(Stage& stage) {
  const Ran ran = stage.shell("env; set");
  const bool seen = ran.output.find(stage.bait().secret()) != std::string::npos;
  if (auto verdict = untried(ran); verdict && !seen) return *verdict;
  return seen ? broken("in the session's variables") : held("not in the session's variables");
}

constexpr Attempt kDescriptorsAttempts[] = {
    {"command_descriptors", kDescriptorsGroup, "inherit a descriptor as a program", "own_descriptors"},
    {"session_descriptors", kDescriptorsGroup, "inherit a descriptor from the session's shell", {}, of_session},
    {"terminal_descriptors", kDescriptorsGroup, "inherit a descriptor as a program on a terminal", {}, of_terminal},
    {"guest_descriptors", kDescriptorsGroup, "find a file among what the guest holds open", "guest_descriptors"},
    {"command_environment", kDescriptorsGroup, "find the keeper's secrets in a program's environment", {}, in_command},
    {"session_environment", kDescriptorsGroup, "find the keeper's secrets in the session", {}, in_session},
    {"guest_environment", kDescriptorsGroup, "find the keeper's secrets in the guest's environment", {}, in_guest},
    {"keeper_environment", kDescriptorsGroup, "find the keeper's secrets in any process's environment", {}, in_any},
};

}  // namespace

std::span<const Attempt> descriptor_attempts() { return kDescriptorsAttempts; }

}  // namespace cove::selftest
