#include <cstdio>

#include "engines/engine.h"
#include "record/record.h"

namespace cove::engines {

Done engine(const std::string& words) {
  auto program = testing_helpers::start_program({"/bin/bash", "-c", backend_name() + " " + words});
  if (!program) return {-1, program.error().text(), ""};
  const int code = program->finish();
  return {code, program->heard, ""};
}

std::string containers_of(const std::string& sandbox) {
  return engine("ps --all --quiet --filter label=cove.sandbox=" + sandbox).out;
}

std::string said(Sandbox& sandbox, const std::string& script) {
  const auto ran = sandbox.sh(script, soon());
  return ran ? ran->output : ran.error().text();
}

Sandbox create(const SandboxSpec& spec) {
  auto sandbox = Sandbox::create(spec, soon());
  if (!sandbox) throw std::runtime_error("create sandbox: " + sandbox.error().text());
  return std::move(*sandbox);
}

SandboxSpec lasting_spec() {
  SandboxSpec spec = make_spec();
  spec.owned = false;
  return spec;
}

pid_t keeper_of(const std::string& name) {
  const auto record = record::Record::open(name);
  const auto info = record ? record->info() : Result<record::Info>(fail(record.error()));
  return info ? info->keeper_pid : 0;
}

}  // namespace cove::engines

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (const std::string why = cove::testing_helpers::engine_why_not(); !why.empty()) return std::puts(why.c_str()), 77;
  cove::testing_helpers::become_test_user();
  cove::testing_helpers::home();
  const int code = RUN_ALL_TESTS();
  std::string left;
  cove::testing_helpers::eventually([&] { return (left = cove::testing_helpers::home().leftovers()).empty(); });
  if (!left.empty()) std::printf("left behind:\n%s", left.c_str());
  return left.empty() ? code : 1;
}
