// Many sandboxes at once: the engine makes them and ends them, and has no part in what runs inside.

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "engines/engine.h"

namespace cove::engines {
namespace {

constexpr int kSandboxes = 50, kThreads = 10, kCommands = 10;

std::size_t lines_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

void in_threads(const std::function<void(int)>& work) {
  std::vector<std::thread> all;
  for (int thread = 0; thread < kThreads; ++thread) {
    all.emplace_back([&, thread] {
      for (int i = thread; i < kSandboxes; i += kThreads) work(i);
    });
  }
  for (std::thread& one : all) one.join();
}

TEST(Many, FiftyAtOnceRunCommandsWithoutACallOfTheEngine) {
  if (backend_name() != "docker") GTEST_SKIP() << "what is counted is the same for every engine: docker shows it";
  const std::string folder = home().make_directory("counted"), calls = folder + "/calls";
  std::ofstream(folder + "/docker") << "#!/bin/sh\necho call >>" + calls + "\nexec docker \"$@\"\n";
  std::filesystem::permissions(folder + "/docker", std::filesystem::perms(0755));
  std::vector<SandboxSpec> specs(kSandboxes, make_spec());
  std::vector<std::optional<Sandbox>> sandboxes(kSandboxes);
  for (int i = 0; i < kSandboxes; ++i) {
    specs[i].name += "-" + std::to_string(i);
    specs[i].set_option("engine", folder + "/docker");
    specs[i].image = "cove-test:busybox";
  }
  in_threads([&](int i) {
    auto made = Sandbox::create(specs[i], soon());
    EXPECT_TRUE(made) << made.error().text();
    if (made) sandboxes[i].emplace(std::move(*made));
  });
  const std::size_t before = lines_in(calls);
  EXPECT_GE(before, static_cast<std::size_t>(kSandboxes)) << "each was made by one call";
  in_threads([&](int i) {
    for (int n = 0; n < kCommands && sandboxes[i]; ++n)
      EXPECT_EQ(said(*sandboxes[i], "echo " + std::to_string(i)), std::to_string(i) + "\n");
  });
  EXPECT_EQ(lines_in(calls), before);
  in_threads([&](int i) { EXPECT_TRUE(!sandboxes[i] || sandboxes[i]->stop({}, soon())); });
  EXPECT_EQ(engine("ps --all --quiet --filter name=" + specs[0].name.substr(0, specs[0].name.size() - 2)).out, "");
}

}  // namespace
}  // namespace cove::engines
