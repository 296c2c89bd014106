// Taking more than was given. Each has a sandbox of its own with the limit set; the amounts are bounded, so that a host
// without limits survives.

#include <csignal>
#include <filesystem>

#include "backend/traits.h"
#include "record/home.h"
#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kExhaustionGroup = "exhaust resources";
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// A backend with walls that says no to a limit keeps its word: nobody relies on it. One without walls leaves no choice.
Verdict no_limit(const Stage& stage, const Error& error) {
  if (error.code != Errc::unsupported && error.code != Errc::denied)
    return broken("could not be tried: " + error.text());
  if (!traits_of(stage.backend()).isolates) return broken("no limit can be set: " + error.message);
  return not_applicable("the limit was refused: " + error.message);
}

// However it ends, short of success, the limit held.
Verdict judge_limit(const Ran& ran) {
  if (ran.gone) return held("the sandbox ended: " + clean_line(ran.trouble));
  if (ran.ending == Ending::signaled && ran.signal == SIGKILL) return held("killed");
  return judge(ran);
}

Verdict limited(Stage& stage, const SandboxSpec& spec, const std::vector<std::string>& words) {
  auto place = stage.make(spec);
  if (!place) return no_limit(stage, place.error());
  return judge_limit(place->act(words, stage.call()));
}

SandboxSpec with_memory(const Stage& stage) {
  SandboxSpec spec = stage.spec();
  spec.memory_bytes = 128 * kMiB;
  return spec;
}

SandboxSpec with_disk(const Stage& stage) {
  SandboxSpec spec = stage.spec();
  spec.disk_bytes = 64 * kMiB;
  return spec;
}

SandboxSpec with_both(const Stage& stage) {
  SandboxSpec spec = with_memory(stage);
  spec.disk_bytes = 64 * kMiB;
  return spec;
}

Verdict memory(Stage& stage) { return limited(stage, with_memory(stage), {"memory", "428"}); }
Verdict shm(Stage& stage) { return limited(stage, with_memory(stage), {"disk", "/dev/shm", "428"}); }
Verdict disk(Stage& stage) { return limited(stage, with_disk(stage), {"disk", ".", "192"}); }
Verdict temporary(Stage& stage) { return limited(stage, with_both(stage), {"disk", "/tmp", "428"}); }
Verdict descriptors(Stage& stage) { return limited(stage, with_memory(stage), {"descriptors", "1200000"}); }

Verdict processes(Stage& stage) {
  SandboxSpec spec = stage.spec();
  spec.pids = 64;
  return limited(stage, spec, {"processes", "200"});
}

Verdict processors(Stage& stage) {
  SandboxSpec spec = stage.spec();
  spec.cpus = 0.5;
  return limited(stage, spec, {"processors", "0.5"});
}

std::uint64_t bytes_below(const std::string& directory) {
  std::uint64_t sum = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory, ignored)) {
    if (entry.is_regular_file(ignored)) sum += entry.file_size(ignored);
  }
  return sum;
}

// Output is kept on the host, and a command can write as much of it as it likes.
Verdict output(Stage& stage) {
  SandboxSpec spec = stage.spec();
  spec.log_cap_bytes = kMiB;
  auto place = stage.make(spec);
  const auto home = record::home();
  if (!place || !home) return broken("could not be tried: no sandbox");
  const Ran ran = place->shell("head -c 20000000 /dev/zero", stage.call());
  const std::uint64_t kept = bytes_below(*home + "/sandboxes/" + place->sandbox().name() + "/logs");
  if (ran.output.size() < 20'000'000) return broken("could not be tried: the output did not come");
  const std::string text = std::to_string(kept) + " bytes kept of 20000000, with a cap of 1 MiB";
  // The cap, the newest bytes and what is noted about both. Nothing at all would mean that we looked in the wrong
  // place.
  return kept > 4 * kMiB || kept < kMiB / 2 ? broken(text) : held(text);
}

constexpr Attempt kExhaustionAttempts[] = {
    {"exhaust_memory", kExhaustionGroup, "take 300 MiB more memory than given", {}, memory},
    {"exhaust_shared_memory", kExhaustionGroup, "take 300 MiB more memory than given, in /dev/shm", {}, shm},
    {"exhaust_processes", kExhaustionGroup, "start more processes than given", {}, processes},
    {"exhaust_disk", kExhaustionGroup, "write more than given", {}, disk},
    {"exhaust_temporary", kExhaustionGroup, "write more than given to /tmp", {}, temporary},
    {"exhaust_processors", kExhaustionGroup, "use more processor time than given", {}, processors},
    {"exhaust_descriptors", kExhaustionGroup, "open more than a million files", {}, descriptors},
    {"raise_limits", kExhaustionGroup, "raise a hard limit", "raise_limit"},
    {"exhaust_output", kExhaustionGroup, "fill the host's disk with output", {}, output},
};

}  // namespace

std::span<const Attempt> exhaustion_attempts() { return kExhaustionAttempts; }

}  // namespace cove::selftest
