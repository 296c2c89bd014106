#include <unistd.h>

#include <filesystem>

#include "helpers/home.h"
#include "helpers/process.h"
#include "measures.h"

namespace cove::bench {
namespace {

using namespace testing_helpers;

std::vector<pid_t> keepers() {
  auto pids = processes_with_env("COVE_HOME=" + home().path());
  std::erase(pids, getpid());
  return pids;
}

// Keepers and guests; a prepared shell that is still there is waited for, because an idle sandbox has none.
double pss_mib_of_all() {
  std::uint64_t bytes = 0;
  for (const pid_t keeper : keepers()) {
    bytes += held_by(keeper).pss_bytes;
    for (const pid_t guest : children_of(keeper)) {
      if (!eventually([&] { return children_of(guest).empty(); }, Seconds(30)))
        give_up("an idle shell does not go away");
      bytes += held_by(guest).pss_bytes;
    }
  }
  return static_cast<double>(bytes) / (1 << 20);
}

std::vector<Row> memory_of(const std::function<Sandbox()>& make, const std::string& what) {
  constexpr std::size_t kMany = 8;
  std::vector<Sandbox> sandboxes;
  for (std::size_t i = 0; i < kMany; ++i) sandboxes.push_back(make());
  for (Sandbox& sandbox : sandboxes) run_true(sandbox);
  const double together = pss_mib_of_all();
  while (sandboxes.size() > 1) sandboxes.pop_back();
  const double alone = pss_mib_of_all();
  return {{"PSS of an idle " + what + ", alone", alone, "MiB", "", 0, at_most(3)},
          {"PSS of an idle " + what + ", one of 8", together / kMany, "MiB", "", 0, {}}};
}

}  // namespace

std::vector<Row> idle_memory() {
  return memory_of([] { return make_sandbox(); }, "sandbox");
}

std::vector<Row> native_idle_memory() {
  return memory_of([] { return make_sandbox(native_spec()); }, "native sandbox");
}

std::vector<Row> guest_size() {
  const double mib = static_cast<double>(std::filesystem::file_size(COVE_BENCH_GUEST)) / (1 << 20);
  return {{"guest program", mib, "MiB", "", 0, at_most(1.5)}};
}

}  // namespace cove::bench
