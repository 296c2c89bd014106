#include "fixture.h"

#include <csignal>

#include "record/record.h"

namespace cove::faults {

using testing_helpers::alive;
using testing_helpers::describe;

std::string mark_of(const std::string& name) { return "FAULT_MARK=" + name; }

SandboxSpec lasting_spec() {
  SandboxSpec spec = make_spec();
  spec.owned = false;
  set_env(spec, "FAULT_MARK", spec.name);
  return spec;
}

Sandbox create(const SandboxSpec& spec) {
  auto sandbox = Sandbox::create(spec, soon());
  if (!sandbox) throw std::runtime_error("create sandbox: " + sandbox.error().text());
  return std::move(*sandbox);
}

pid_t keeper_of(const std::string& name) {
  const auto record = record::Record::open(name);
  if (!record) return 0;
  const auto info = record->info();
  return info ? info->keeper_pid : 0;
}

pid_t guest_of(const std::string& name) {
  const pid_t keeper = keeper_of(name);
  const auto children = keeper > 0 ? testing_helpers::children_of(keeper) : std::vector<pid_t>{};
  return children.empty() ? 0 : children.front();
}

std::vector<pid_t> inside(const std::string& name) {
  auto pids = testing_helpers::processes_with_env(mark_of(name));
  std::erase(pids, guest_of(name));
  return pids;
}

Truth ask(const std::string& name, const std::string& id) {
  if (auto sandbox = Sandbox::open(name)) {
    auto outcome = sandbox->status(id, soon());
    if (outcome) return {true, *outcome};
    if (outcome.error().code == Errc::not_found) return {};
  }
  const auto record = record::Record::open(name);
  EXPECT_TRUE(record) << record.error().text();
  const auto journal = record ? record->journal() : fail(Errc::not_found, "no record");
  EXPECT_TRUE(journal) << journal.error().text();
  if (!journal) return {};
  for (const Outcome& outcome : *journal) {
    if (outcome.id == id) return {true, outcome};
  }
  return {};
}

void expect_nothing_left(const std::string& name, const std::vector<pid_t>& pids) {
  const auto left = [&] {
    auto running = testing_helpers::processes_with_env(mark_of(name));
    for (const pid_t pid : pids) {
      if (alive(pid)) running.push_back(pid);
    }
    return running;
  };
  EXPECT_TRUE(eventually([&] { return left().empty(); })) << "still running:\n" << describe(left());
  const auto removed = Sandbox::remove(name, soon());
  EXPECT_TRUE(removed || removed.error().code == Errc::not_found) << removed.error().text();
}

void Faults::TearDown() {
  EXPECT_TRUE(eventually([] { return home().leftovers().empty(); })) << home().leftovers();
}

}  // namespace cove::faults
