#pragma once

// Looking at processes from outside, through /proc: who is alive, who belongs to a test, what they hold.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cove::testing_helpers {

using Seconds = std::chrono::duration<double>;

// How long a test waits for what must happen: a busy machine may need seconds for the work of a millisecond. Only a
// test that fails waits that long. A process that must be ended by somebody sleeps far longer.
constexpr std::chrono::minutes kPatience{2};

// Asks again until the answer is yes or the time is over; the last answer. For states of the kernel that have no event.
bool eventually(const std::function<bool()>& question, Seconds limit = kPatience);

// A zombie is not alive: it runs nothing and holds nothing but its number.
bool alive(pid_t pid);
std::vector<pid_t> children_of(pid_t pid);
std::vector<pid_t> descendants_of(pid_t pid);
// Children that have ended and that nobody has reaped.
std::vector<pid_t> zombies_of(pid_t pid);
// Living processes whose initial environment has this K=V.
std::vector<pid_t> processes_with_env(const std::string& entry);
// Living processes one of whose arguments contains `text`.
std::vector<pid_t> processes_with_argument(const std::string& text);

// What a process holds; the number 0 where it is gone.
struct Held {
  std::size_t descriptors = 0, threads = 0;
  std::uint64_t pss_bytes = 0;
  std::uint64_t memory_bytes = 0;  // not of files: its share of these grows when others of its program end
};
Held held_by(pid_t pid);

std::string command_line(pid_t pid);  // for messages: "PID: prog arg arg"
std::string describe(const std::vector<pid_t>& pids);
std::string slurp(const std::string& path);  // "" if it cannot be read

}  // namespace cove::testing_helpers
