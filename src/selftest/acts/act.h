#pragma once

// What `cove-attempt` does inside a sandbox: one forbidden act per run. The exit code says how it went, the output why.
// The program believes nothing about its surroundings and leaves nothing behind: an act that succeeds where there are
// no walls must not harm the host, so each is the smallest one that shows that the door is open.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cove::acts {

// The exit codes that the runner understands.
enum class Result : int {
  did = 0,      // the act succeeded: the promise is broken
  refused = 1,  // somebody said no
  absent = 3,   // there is nothing here to try it on
};

struct Act {
  Result result;
  std::string text;
};

using Args = std::vector<std::string>;

struct Entry {
  std::string_view name;
  Act (*run)(const Args&);
};

inline Act did(std::string text) { return {Result::did, std::move(text)}; }
inline Act refused(std::string text) { return {Result::refused, std::move(text)}; }
inline Act absent(std::string text) { return {Result::absent, std::move(text)}; }

// "EPERM (Operation not permitted)", for errno.
std::string errno_text();
std::string errno_text(int number);
// `WHAT: ERRNO`.
Act refused_by_errno(std::string_view what);
// A call that returns -1 when it was refused.
Act by_result(long result, std::string_view what);
// A call made with arguments that can never work, so that nothing happens even where it is allowed. Only EPERM, EACCES
// and ENOSYS mean that nobody looked at them.
Act by_reach(long result, std::string_view what);
// Runs the act in a child, for acts that change the process: its result comes back by a pipe and its exit code.
Act in_child(Act (*run)(const Args&), const Args& args);

// The whole content, or nothing and errno.
bool read_file(const std::string& path, std::string& content, std::size_t limit = 1 << 20);
bool write_file(const std::string& path, std::string_view content, int flags);
// Whether `text` stands in the file.
bool file_holds(const std::string& path, std::string_view text);
// The names in a directory, without "." and ".."; empty if it cannot be read.
std::vector<std::string> entries(const std::string& path);

// The guest's processes above this one, the nearest first.
std::vector<int> guests();

// One table per subject.
std::span<const Entry> file_acts();
std::span<const Entry> process_acts();
std::span<const Entry> privilege_acts();
std::span<const Entry> network_acts();
std::span<const Entry> kernel_acts();
std::span<const Entry> module_acts();
std::span<const Entry> namespace_acts();
std::span<const Entry> proc_acts();
std::span<const Entry> descriptor_acts();
std::span<const Entry> exhaustion_acts();
std::span<const Entry> terminal_acts();
std::span<const Entry> ipc_acts();
std::span<const Entry> race_acts();

}  // namespace cove::acts
