// Processes of the host, and what belongs to them. One of ours stands for all.

#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kProcessesGroup = "see or signal host processes";

Verdict see(Stage& stage) { return stage.tried({"find_process", "cmdline", stage.bait().secret()}); }
Verdict read_environment(Stage& stage) { return stage.tried({"find_process", "environ", stage.bait().secret()}); }

Verdict signal_it(Stage& stage) {
  HostProcess& process = stage.process();
  const Ran ran = stage.act({"signal", process.pid(), std::to_string(SIGTERM)});
  bool dead = !process.alive();
  // A signal that was sent needs a moment to kill.
  for (int i = 0; i < 50 && ran.code == 0 && !dead; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    dead = !process.alive();
  }
  return judge_outside(ran, dead, "a process of the host was killed");
}

Verdict trace(Stage& stage) { return stage.tried({"trace", stage.process().pid()}); }
Verdict limit(Stage& stage) { return stage.tried({"limit_other", stage.process().pid()}); }
Verdict take_descriptor(Stage& stage) { return stage.tried({"take_descriptor", stage.process().pid(), "1"}); }

Verdict read_memory(Stage& stage) {
  HostProcess& process = stage.process();
  return judge_secret(stage.act({"read_memory", process.pid(), process.address()}), stage.bait().secret());
}

Verdict write_memory(Stage& stage) {
  HostProcess& process = stage.process();
  const Ran ran = stage.act({"write_memory", process.pid(), process.address(), "changed"});
  const bool changed = process.memory() != stage.bait().secret();
  process.kill();
  return judge_outside(ran, changed, "the memory of a process of the host was changed");
}

Verdict slow_down(Stage& stage) {
  HostProcess& process = stage.process();
  const int before = process.niceness();
  const Ran ran = stage.act({"slow_down", process.pid()});
  const bool changed = process.niceness() != before;
  process.kill();
  return judge_outside(ran, changed, "a process of the host was slowed down");
}

Verdict see_root(Stage& stage) {
  const std::string path = "/proc/" + stage.process().pid() + "/root" + stage.bait().own() + "/secret";
  return judge_secret(stage.shell("cat " + session::quote(path)), stage.bait().secret());
}

// A segment of shared memory with the secret in it, for the time of one attempt.
struct Segment {
  key_t key = static_cast<key_t>(0xC04E0000 + getpid() % 0xFFFF);
  int id = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666);
  ~Segment() {
    if (id >= 0) shmctl(id, IPC_RMID, nullptr);
  }
};

Verdict shared_memory(Stage& stage) {
  const Segment segment;
  void* at = segment.id < 0 ? nullptr : shmat(segment.id, nullptr, 0);
  if (at == nullptr || at == reinterpret_cast<void*>(-1)) return not_applicable("the host has no System V memory");
  std::strncpy(static_cast<char*>(at), stage.bait().secret().c_str(), 4095);
  const Ran ran = stage.act({"shared_memory", std::to_string(segment.key)});
  shmdt(at);
  return judge_secret(ran, stage.bait().secret());
}

Verdict message_queue(Stage& stage) {
  const std::string queue = "/cove-selftest-" + stage.bait().token();
  const UniqueFd made(mq_open(queue.c_str(), O_CREAT | O_EXCL | O_RDWR, 0666, nullptr));
  if (!made) return not_applicable("the host has no POSIX message queues");
  Verdict verdict = stage.tried({"message_queue", queue});
  mq_unlink(queue.c_str());
  return verdict;
}

bool host_has(const std::string& mark) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    if (host_content(entry.path() / "cmdline").find(mark) != std::string::npos) return true;
  }
  return false;
}

// A daemon in a session of its own must end with its sandbox.
Verdict outlive(Stage& stage) {
  const std::string mark = "cove-selftest-daemon-" + stage.bait().token();
  {
    auto place = stage.make(stage.spec());
    if (!place) return broken("could not be tried: " + place.error().text());
    const Ran ran = place->shell("(trap '' TERM HUP; setsid " + session::quote(place->program()) + " bait " + mark +
                                     " </dev/null >/dev/null 2>&1 &) ; sleep 0.2",
                                 stage.call());
    if (auto verdict = untried(ran)) return *verdict;
    if (!host_has(mark)) return not_applicable("the host does not see what runs inside");
  }
  return host_has(mark) ? broken("a process runs on after its sandbox was destroyed")
                        : held("it ended with its sandbox");
}

constexpr Attempt kProcessesAttempts[] = {
    {"see_host_process", kProcessesGroup, "find a process of the host in /proc", {}, see},
    {"read_host_environment", kProcessesGroup, "read the environment of a process of the host", {}, read_environment},
    {"signal_host_process", kProcessesGroup, "kill a process of the host", {}, signal_it},
    {"trace_host_process", kProcessesGroup, "attach to a process of the host", {}, trace},
    {"read_host_memory", kProcessesGroup, "read the memory of a process of the host", {}, read_memory},
    {"write_host_memory", kProcessesGroup, "write to the memory of a process of the host", {}, write_memory},
    {"take_host_descriptor", kProcessesGroup, "take a descriptor from a process of the host", {}, take_descriptor},
    {"slow_host_process", kProcessesGroup, "change the priority of a process of the host", {}, slow_down},
    {"limit_host_process", kProcessesGroup, "look at the limits of a process of the host", {}, limit},
    {"host_process_root", kProcessesGroup, "go through the root directory of a process of the host", {}, see_root},
    {"host_shared_memory", kProcessesGroup, "read a System V segment of the host", {}, shared_memory},
    {"host_message_queue", kProcessesGroup, "open a POSIX message queue of the host", {}, message_queue},
    {"outlive_destroy", kProcessesGroup, "leave a daemon behind", {}, outlive},
};

}  // namespace

std::span<const Attempt> process_attempts() { return kProcessesAttempts; }

}  // namespace cove::selftest
