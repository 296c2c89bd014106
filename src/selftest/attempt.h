#pragma once

// `cove selftest`: promises of a sandbox, each with a real act that tries to break it from inside. What happened is
// looked at from outside wherever there is anything to see there. On a backend without walls most attempts must come
// out as `broken`: that is how a check shows that it can fail.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cove::selftest {

enum class Finding : unsigned char {
  held,
  broken,  // also: the attempt could not be made, so that nothing is known
  not_applicable,
};
std::string_view name(Finding finding);

struct Verdict {
  Finding finding = Finding::broken;
  std::string detail;  // one line, without control characters
};

class Stage;

struct Attempt {
  std::string_view name, group;
  std::string_view tries;            // what it tries, for people
  std::string_view act;              // of cove-attempt, without arguments ...
  Verdict (*run)(Stage&) = nullptr;  // ... or a function
};

// Every attempt, in the order in which they are made: group after group.
std::vector<Attempt> all_attempts();

// One list per subject, each in a file of its own.
std::span<const Attempt> read_attempts();
std::span<const Attempt> write_attempts();
std::span<const Attempt> process_attempts();
std::span<const Attempt> privilege_attempts();
std::span<const Attempt> network_attempts();
std::span<const Attempt> socket_attempts();
std::span<const Attempt> kernel_attempts();
std::span<const Attempt> namespace_attempts();
std::span<const Attempt> proc_attempts();
std::span<const Attempt> descriptor_attempts();
std::span<const Attempt> exhaustion_attempts();
std::span<const Attempt> copy_attempts();
std::span<const Attempt> volume_attempts();
std::span<const Attempt> terminal_attempts();

}  // namespace cove::selftest
