// `cove selftest` itself: on a backend without walls its attempts must succeed, which shows that the checks can fail;
// on every other one none may.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "backend/table.h"
#include "helpers/home.h"
#include "helpers/process.h"
#include "helpers/program.h"
#include "selftest/attempt.h"

namespace cove {
namespace {

using namespace std::chrono_literals;
using namespace testing_helpers;
using nlohmann::json;

std::map<std::string, std::string> results_of(const json& report) {
  std::map<std::string, std::string> results;
  for (const json& each : report["attempts"]) results[each["name"]] = each["result"];
  return results;
}

// Where bait is laid below this test's own directories.
std::vector<std::string> bait_places() { return {home().make_directory("tmp"), home().make_directory("home")}; }
std::vector<std::string> own_places() { return {"TMPDIR=" + home().make_directory("tmp")}; }

std::string left_in(const std::string& directory, const std::string& mark) {
  std::string text;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    if (entry.path().string().find(mark) != std::string::npos) text += entry.path().string() + "\n";
  }
  return text;
}

std::string everything_left(const std::string& token) {
  std::string text = home().leftovers() + describe(processes_with_argument(token));
  for (const std::string& place : bait_places()) text += left_in(place, "cove-selftest");
  for (const char* place : {"/", "/tmp", "/etc", "/var/tmp", "/dev/shm", "/usr/local/bin"})
    text += left_in(place, token);
  return text;
}

// One run for all tests that look at it.
struct Local {
  Done done = run_cove({"selftest", "--backend", "local", "--json"}, own_places());
  json report = json::parse(done.out, nullptr, false);
};
const Local& local() {
  static const Local one;
  return one;
}

// These cannot but succeed where there are no walls, whoever runs them.
constexpr const char* kMustBreak[] = {"read_private_file",
                                      "read_home_file",
                                      "list_home",
                                      "read_var_tmp_file",
                                      "read_by_dots",
                                      "search_everywhere",
                                      "read_keeper_record",
                                      "plant_in_tmp",
                                      "plant_in_var_tmp",
                                      "plant_in_home",
                                      "plant_in_record",
                                      "overwrite_file",
                                      "replace_file",
                                      "remove_file",
                                      "change_mode",
                                      "hard_link_file",
                                      "see_host_process",
                                      "read_host_environment",
                                      "signal_host_process",
                                      "slow_host_process",
                                      "limit_host_process",
                                      "no_new_privs",
                                      "seccomp_filter",
                                      "host_loopback",
                                      "host_datagram",
                                      "see_host_ports",
                                      "abstract_socket",
                                      "path_socket",
                                      "passed_descriptor",
                                      "keeper_socket",
                                      "see_host_sockets",
                                      "shared_pid_namespace",
                                      "shared_mount_namespace",
                                      "shared_net_namespace",
                                      "shared_ipc_namespace",
                                      "shared_uts_namespace",
                                      "shared_user_namespace",
                                      "walk_up_from_descriptors",
                                      "keeper_environment",
                                      "copy_out_through_link",
                                      "read_through_link",
                                      "copy_in_through_link",
                                      "write_through_link",
                                      "move_through_link",
                                      "remove_through_link",
                                      "unpack_absolute",
                                      "write_read_only_volume",
                                      "reopen_read_only_file",
                                      "change_read_only_modes",
                                      "link_read_only_file",
                                      "remount_volume",
                                      "volume_parent",
                                      "link_in_volume",
                                      "linked_source",
                                      "swapped_source",
                                      "host_terminal",
                                      "exhaust_memory",
                                      "exhaust_shared_memory",
                                      "exhaust_processes",
                                      "exhaust_disk",
                                      "exhaust_temporary",
                                      "exhaust_processors",
                                      "exhaust_descriptors",
                                      "quotactl",
                                      "remount"};
// These only where the runner is root of the machine.
constexpr const char* kMustBreakForRoot[] = {"read_shadow",
                                             "plant_in_etc",
                                             "plant_in_bin",
                                             "plant_in_root",
                                             "touch_system_program",
                                             "capabilities",
                                             "setuid_program",
                                             "file_capabilities",
                                             "chroot_escape",
                                             "root_of_host",
                                             "mount_tmpfs",
                                             "bind_mount",
                                             "unshare_mount",
                                             "unshare_pid",
                                             "unshare_net",
                                             "set_hostname",
                                             "set_clock",
                                             "reboot",
                                             "raw_socket",
                                             "change_interface",
                                             "mknod_disk",
                                             "mknod_memory",
                                             "setuid_on_volume",
                                             "device_on_volume",
                                             "write_any_sysctl",
                                             "write_core_pattern",
                                             "unmask_proc",
                                             "pivot_root",
                                             "swapon",
                                             "fsopen",
                                             "open_tree",
                                             "trace_host_process",
                                             "read_host_memory",
                                             "write_host_memory",
                                             "take_host_descriptor",
                                             "host_process_root"};

// These are promises that need no walls.
constexpr const char* kMustHold[] = {
    "outlive_destroy",      "command_descriptors", "session_descriptors", "terminal_descriptors", "guest_descriptors",
    "command_environment",  "session_environment", "guest_environment",   "copy_out_link",        "copy_out_special",
    "controlling_terminal", "output_bytes",        "escapes_in_json",     "escapes_in_names",     "exhaust_output"};

TEST(Selftest, ReportHasItsShape) {
  const json& report = local().report;
  ASSERT_TRUE(report.is_object()) << local().done.out << local().done.err;
  EXPECT_EQ(report.size(), 2U);
  EXPECT_EQ(report["backend"], "local");
  const std::set<std::string> kinds{"held", "broken", "not_applicable"};
  for (const json& each : report["attempts"]) {
    EXPECT_EQ(each.size(), 4U) << each;
    EXPECT_TRUE(each["name"].is_string() && each["group"].is_string() && each["detail"].is_string()) << each;
    EXPECT_TRUE(kinds.contains(each["result"])) << each;
    EXPECT_NE(each["detail"], "") << each;
  }
}

TEST(Selftest, ThereAreAtLeastSixtyAttemptsWithNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const auto& attempt : selftest::all_attempts()) {
    EXPECT_TRUE(names.insert(attempt.name).second) << attempt.name << " is there twice";
    EXPECT_FALSE(attempt.tries.empty()) << attempt.name;
  }
  EXPECT_GE(names.size(), 60U);
  EXPECT_EQ(local().report["attempts"].size(), names.size());
}

TEST(Selftest, WithoutWallsTheAttemptsSucceed) {
  EXPECT_EQ(local().done.code, 1) << local().done.err;
  const auto results = results_of(local().report);
  for (const char* name : kMustBreak) EXPECT_EQ(results.at(name), "broken") << name;
  if (geteuid() != 0) return;
  for (const char* name : kMustBreakForRoot) EXPECT_EQ(results.at(name), "broken") << name;
}

TEST(Selftest, WhatNeedsNoWallsHoldsWithoutThem) {
  const auto results = results_of(local().report);
  for (const char* name : kMustHold) EXPECT_EQ(results.at(name), "held") << name;
}

TEST(Selftest, EveryAttemptTakesPlace) {
  for (const json& each : local().report["attempts"]) {
    EXPECT_EQ(each["detail"].get<std::string>().find("could not be tried"), std::string::npos) << each;
  }
}

TEST(Selftest, LeavesNothingBehind) {
  std::string token;
  for (const json& each : local().report["attempts"]) {
    const std::string detail = each["detail"], mark = "cove-selftest-planted-";
    if (const auto at = detail.find(mark); at != std::string::npos) token = detail.substr(at + mark.size(), 16);
  }
  ASSERT_EQ(token.size(), 16U);
  EXPECT_TRUE(eventually([&] { return everything_left(token).empty(); })) << everything_left(token);
}

TEST(Selftest, AnInterruptCleansUp) {
  std::vector<std::string> env = own_places();
  auto running = start_program({cove_program(), "selftest", "--backend", "local"}, env);
  ASSERT_TRUE(running) << running.error().text();
  ASSERT_TRUE(running->says("write host files")) << running->heard;
  ASSERT_TRUE(running->child.signal(SIGINT));
  const auto status = running->child.wait(Deadline::after(kPatience));
  ASSERT_TRUE(status) << status.error().text();
  EXPECT_EQ(status->code, 130);
  EXPECT_TRUE(eventually([] { return everything_left("no such token").empty(); })) << everything_left("-");
}

TEST(Selftest, ListTriesNothingAndNamesEveryAttempt) {
  const Done done = run_cove({"selftest", "--list"});
  EXPECT_EQ(done.code, 0);
  for (const auto& attempt : selftest::all_attempts())
    EXPECT_NE(done.out.find(attempt.name), std::string::npos) << attempt.name;
}

TEST(Selftest, AGroupIsTriedAloneAndAnUnknownOneIsAUsageError) {
  const Done one = run_cove({"selftest", "--backend", "local", "--json", "--group", "reach host"}, own_places());
  const json report = json::parse(one.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << one.out << one.err;
  EXPECT_FALSE(report["attempts"].empty());
  for (const json& each : report["attempts"]) EXPECT_EQ(each["group"], "reach host sockets");
  EXPECT_EQ(run_cove({"selftest", "--group", "no such"}).code, 2);
}

TEST(Selftest, AnUnknownBackendIsAnErrorOfOurs) {
  EXPECT_EQ(run_cove({"selftest", "--backend", "nowhere"}, own_places()).code, 125);
}

Done attempt(const std::string& shell_words) {
  Done done;
  auto running = start_program({"/bin/sh", "-c", shell_words});
  EXPECT_TRUE(running);
  running->says("\n");
  if (const auto status = running->child.wait(Deadline::after(kPatience))) done.code = status->code;
  done.out = running->heard;
  return done;
}

// The checks that hold even without walls, each shown something to find.
TEST(Attempt, AnInheritedDescriptorIsFound) {
  const Done done = attempt("exec 7</; exec " COVE_TEST_ATTEMPT " own_descriptors");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_NE(done.out.find("7=/"), std::string::npos) << done.out;
  EXPECT_EQ(attempt("exec " COVE_TEST_ATTEMPT " own_descriptors").code, 1);
}

TEST(Attempt, ASecretInTheEnvironmentIsFound) {
  EXPECT_EQ(attempt("X=covesecret exec " COVE_TEST_ATTEMPT " environment covesecret").code, 0);
  EXPECT_EQ(attempt("exec " COVE_TEST_ATTEMPT " environment covesecret").code, 1);
}

TEST(Attempt, AnUnknownActIsNotARefusal) { EXPECT_EQ(attempt("exec " COVE_TEST_ATTEMPT " no_such_act 2>&1").code, 2); }

TEST(IsolatingBackends, HoldEverything) {
  int tried = 0;
  for (Backend* backend : all_backends()) {
    const Traits& traits = traits_of(backend->name());
    if (!traits.isolates || traits.not_auto == kNeedsImage) continue;  // engines: security.docker
    if (backend->name() == "microvm") continue;                        // security.microvm, on a small root
    const std::string name(backend->name());
    if (const Probe probe = backend->probe(Deadline::after(kPatience)); !probe.usable) {
      std::cout << name << " cannot be used here: " << probe.why_not << "\n";
      continue;
    }
    ++tried;
    const Done done = run_cove({"selftest", "--backend", name, "--json"}, own_places());
    const json report = json::parse(done.out, nullptr, false);
    ASSERT_TRUE(report.is_object()) << done.out << done.err;
    for (const json& each : report["attempts"]) EXPECT_NE(each["result"], "broken") << name << ": " << each;
    EXPECT_EQ(done.code, 0) << done.err;
  }
  if (tried == 0) GTEST_SKIP() << "no backend with walls can be used here: nothing was tried";
}

TEST(MicrovmSelftest, HoldsEverything) {
  const char* root = std::getenv("COVE_TEST_ROOT");
  if (root == nullptr) GTEST_SKIP() << "COVE_TEST_ROOT names no root for it";
  // Made once: an attempt has seconds.
  ASSERT_EQ(run_cove({"run", "--backend", "microvm", "--image", root, "--", "true"}).code, 0);
  auto env = own_places();
  env.push_back(std::string("COVE_IMAGE=") + root);
  const Done done = run_cove({"selftest", "--backend", "microvm", "--json"}, env);
  const json report = json::parse(done.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << done.out << done.err;
  for (const json& each : report["attempts"]) EXPECT_NE(each["result"], "broken") << each;
  EXPECT_EQ(done.code, 0) << done.err;
}

TEST(Selftest, HoldsWithASysThatWasAskedFor) {
  Backend* native = find_backend("native").value();
  if (const Probe probe = native->probe(Deadline::after(kPatience)); !probe.usable) GTEST_SKIP() << probe.why_not;
  const Done done =
      run_cove({"selftest", "--backend", "native", "--sys", "--json", "--group", "escape by /proc"}, own_places());
  const json report = json::parse(done.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << done.out << done.err;
  const auto results = results_of(report);
  EXPECT_GE(results.size(), 20U);
  for (const auto& [name, result] : results) EXPECT_NE(result, "broken") << name;
  EXPECT_EQ(results.at("write_sysfs"), "held");
  EXPECT_EQ(done.code, 0) << done.err;
}

}  // namespace
}  // namespace cove

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Some attempts are made as another user, who must find the way.
  std::filesystem::permissions(cove::testing_helpers::home().root(), std::filesystem::perms(0755));
  return RUN_ALL_TESTS();
}
