#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "selftest/acts/act.h"

namespace cove::acts {
namespace {

const Entry* find(std::string_view name) {
  for (const auto table :
       {file_acts(), process_acts(), privilege_acts(), network_acts(), kernel_acts(), module_acts(), namespace_acts(),
        proc_acts(), descriptor_acts(), exhaustion_acts(), terminal_acts(), ipc_acts(), race_acts()}) {
    for (const Entry& entry : table) {
      if (entry.name == name) return &entry;
    }
  }
  return nullptr;
}

// Neither of the codes of `Result`, so that a mistake of ours never counts as a wall that held.
constexpr int kUsage = 2;

}  // namespace
}  // namespace cove::acts

int main(int argc, char** argv) {
  using namespace cove::acts;
  const Entry* entry = argc > 1 ? find(argv[1]) : nullptr;
  if (entry == nullptr) {
    std::fprintf(stderr, "cove-attempt: there is no act '%s'\n", argc > 1 ? argv[1] : "");
    return kUsage;
  }
  const Act act = entry->run(Args(argv + 2, argv + argc));
  std::printf("%s\n", act.text.c_str());
  std::fflush(stdout);
  _exit(static_cast<int>(act.result));
}
