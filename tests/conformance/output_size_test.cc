// D, second half: much output, and where it is kept. Cases 57-60, at the level of the keeper's log; the window and the
// spill file that a model sees belong to the terminal tool.

#include <filesystem>

#include "conformance/fixture.h"

namespace cove::conformance {
namespace {

namespace fs = std::filesystem;

Ran attach(Sandbox& sandbox, const std::string& id, std::uint64_t from) {
  Ran ran;
  const auto keep = [&](Stream, std::string_view bytes) { ran.output += bytes; };
  auto outcome = sandbox.attach({.id = id, .from = from}, {.output = keep}, {.deadline = Deadline::after(kPatience)});
  EXPECT_TRUE(outcome) << outcome.error().text();
  if (outcome) ran.outcome = *outcome;
  return ran;
}

TEST_F(Contract, Case057_TheLogIsCappedItsOffsetsStayTrueAndTheOutcomeSaysSo) {
  SandboxSpec spec = make_spec();
  spec.log_cap_bytes = 50'000;
  Sandbox small = create(spec);
  auto id = small.start({.script = "seq -f %09.0f 0 1999999"});  // ten bytes a line, so an offset tells the line
  ASSERT_TRUE(id) << id.error().text();
  const Outcome end = attach(small, *id, 0).outcome;
  EXPECT_TRUE(end.truncated);
  EXPECT_EQ(end.output_bytes, 20'000'000U);
  const Ran kept = attach(small, *id, 0);
  EXPECT_LE(kept.output.size(), 50'000U + (8U << 20)) << "neither the beginning nor the newest";
  EXPECT_EQ(kept.output.substr(0, 20), "000000000\n000000001\n");
  EXPECT_EQ(kept.output.substr(49'990, 10), "000004999\n");
  EXPECT_EQ(attach(small, *id, 10'000).output, kept.output.substr(10'000));
  EXPECT_EQ(attach(small, *id, 19'999'980).output, "001999998\n001999999\n");
}

TEST_F(Contract, Case057_ALiveReaderGetsEveryByteWhateverTheCap) {
  SandboxSpec spec = make_spec();
  spec.log_cap_bytes = 50'000;
  Sandbox small = create(spec);
  const Ran ran = run(small, {.script = "head -c 3000000 /dev/zero"});
  EXPECT_TRUE(ran.exited(0)) << printable(ran);
  EXPECT_EQ(ran.output.size(), 3'000'000U);
  EXPECT_TRUE(ran.outcome.truncated);
}

TEST_F(Contract, Case058_GigabytesOfOutputKeepMemoryFlatAndTheExitCodeRight) {
  // AddressSanitizer keeps what was freed, 256 MB of it in each process, which is not what is measured here.
  SandboxSpec spec = make_spec();
  setenv("ASAN_OPTIONS", "quarantine_size_mb=8", 0);
  set_env(spec, "ASAN_OPTIONS", "quarantine_size_mb=8");
  Sandbox own = create(spec);
  const auto pids = [&] {
    auto keepers = testing_helpers::processes_with_env("COVE_HOME=" + home().path());
    std::vector<pid_t> all;
    for (const pid_t keeper : keepers) {
      if (keeper == getpid()) continue;
      all.push_back(keeper);
      for (const pid_t guest : testing_helpers::children_of(keeper)) all.push_back(guest);
    }
    return all;
  }();
  ASSERT_FALSE(pids.empty());
  const auto memory = [&] {
    std::uint64_t bytes = 0;
    for (const pid_t pid : pids) bytes += testing_helpers::held_by(pid).memory_bytes;
    return bytes;
  };
  const std::uint64_t before = memory(), wanted = big_bytes();
  std::uint64_t seen = 0, most = 0, next = 0;
  const auto count = [&](Stream, std::string_view bytes) {
    seen += bytes.size();
    if (seen < next) return;
    next = seen + wanted / 16;
    most = std::max(most, memory());
  };
  const auto outcome =
      own.run({.script = "head -c " + std::to_string(wanted) + " /dev/zero; exit 3"}, {.output = count});
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->exit_code, 3);
  EXPECT_EQ(outcome->output_bytes, wanted);
  EXPECT_EQ(seen, wanted);
  EXPECT_LT(most - std::min(most, before), std::uint64_t{80} << 20) << "before " << before << ", most " << most;
}

TEST_F(Contract, Case059_ALogDirectoryThatIsASymlinkIsNotFollowedAndTheCommandIsUnaffected) {
  Sandbox own = create(make_spec());
  const std::string logs = home().path() + "/sandboxes/" + own.name() + "/logs";
  const std::string elsewhere = home().make_directory("elsewhere");
  fs::remove_all(logs);
  fs::create_directory_symlink(elsewhere, logs);
  const Ran ran = run(own, {.script = "head -c 16000000 /dev/zero; exit 4"});
  EXPECT_TRUE(ran.exited(4)) << ran.code();
  EXPECT_EQ(ran.output.size(), 16'000'000U);
  EXPECT_TRUE(fs::is_empty(elsewhere)) << "the log was written through the symlink";
}

TEST_F(Contract, Case060_ACapOfOneByteCostsNothingButTheLog) {
  SandboxSpec spec = make_spec();
  spec.log_cap_bytes = 1;
  Sandbox tiny = create(spec);
  const std::string ready = spec.cwd + "/ready-" + spec.name;
  const Ran ran = run_to_timeout(tiny, {.script = "echo hello; echo 1 >" + ready + "; sleep 999"}, {ready});
  EXPECT_EQ(ran.outcome.ending, Ending::timeout) << printable(ran);
  EXPECT_EQ(ran.code(), 124);
  EXPECT_EQ(ran.output, "hello\n");
  EXPECT_TRUE(ran.outcome.truncated);
  EXPECT_EQ(ran.outcome.output_bytes, 6U);
}

}  // namespace
}  // namespace cove::conformance
