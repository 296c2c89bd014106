// What the keeper does with a guest that lies (fake_guest.cc has the lies).

#include <csignal>
#include <filesystem>

#include "faults/fixture.h"
#include "record/record.h"

namespace cove::faults {
namespace {

class HostileGuest : public Faults, public ::testing::WithParamInterface<const char*> {};

// How it went: in words, for the message.
struct Course {
  std::string told;    // the error or the outcome's detail
  bool error = false;  // told as an error or as lost, not as a success
  Seconds took{0};     // the last call
};

Course use(Sandbox& sandbox) {
  const auto begin = Clock::now();
  std::string output;
  const auto keep = [&](Stream, std::string_view bytes) { output += bytes.substr(0, 100); };
  const auto end = sandbox.run({.script = "cat", .timeout = 300ms}, {.output = keep, .stdin_bytes = "in"}, soon());
  Course course;
  course.took = Clock::now() - begin;
  course.error = !end || end->ending == Ending::lost || end->ending == Ending::timeout;
  course.told = end ? end->detail + end->error_text : end.error().text();
  return course;
}

TEST_P(HostileGuest, IsReportedAndNeitherCrashesNorHangsItsKeeper) {
  const std::string guest = home().make_directory("lies") + "/" + GetParam();
  if (!std::filesystem::exists(guest)) std::filesystem::create_symlink(COVE_TEST_FAKE_GUEST, guest);
  setenv("COVE_GUEST", guest.c_str(), 1);
  const SandboxSpec spec = lasting_spec();
  const auto begin = Clock::now();
  auto sandbox = Sandbox::create(spec, soon());
  const Seconds took = Clock::now() - begin;
  setenv("COVE_GUEST", COVE_TEST_GUEST, 1);
  const pid_t keeper = keeper_of(spec.name), guest_pid = guest_of(spec.name);
  Course course{sandbox ? "" : sandbox.error().text(), !sandbox, took};
  if (sandbox) course = use(*sandbox);
  const bool harmless = std::string(GetParam()) == "exits-twice" || std::string(GetParam()) == "output-after-gone";
  EXPECT_TRUE(course.error || harmless) << "a lie was taken for a success: " << course.told;
  EXPECT_FALSE(course.told.empty() && !harmless) << "nobody says what happened";
  EXPECT_LT(course.took, kPatience) << "its keeper hangs: " << course.told;
  EXPECT_EQ(course.told.find("internal"), std::string::npos) << course.told;
  RecordProperty("told", course.told);
  std::printf("    %s: %s\n", GetParam(), course.told.c_str());
  if (sandbox) (void)sandbox->stop({.remove = true, .grace_ms = 100}, soon());
  expect_nothing_left(spec.name, {keeper, guest_pid});
}

INSTANTIATE_TEST_SUITE_P(Lies, HostileGuest,
                         ::testing::Values("ends-at-once", "crashes", "says-nothing", "does-not-go",
                                           "lies-and-does-not-go", "noise-first", "noise-after-hello", "huge-length",
                                           "endless-message", "wrong-version", "unknown-type", "keepers-own-type",
                                           "hello-twice", "short-payload", "unknown-id", "output-of-nobody",
                                           "exits-twice", "output-after-gone", "ignores-credit", "endless-credit",
                                           "never-exits"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace cove::faults
