// The conformance program. `--owner NAME SCRIPT` is its other self: a process that owns a sandbox and runs a command in
// it until somebody kills it (case 83).

#include <cstdio>
#include <cstring>

#include "conformance/fixture.h"
#include "conformance/report.h"

namespace {

using namespace cove;
using namespace cove::conformance;

class NothingLeft : public ::testing::Environment {
 public:
  void SetUp() override { home(); }
  void TearDown() override {
    drop_shared_sandbox();
    const bool clean = eventually([] { return home().leftovers().empty(); });
    EXPECT_TRUE(clean) << "left after all sandboxes ended:\n" << home().leftovers();
  }
};

int own(const char* mark) {
  SandboxSpec spec = make_spec();
  set_env(spec, "OWNER_MARK", mark);
  auto sandbox = Sandbox::create(spec);
  if (!sandbox) return std::fprintf(stderr, "%s\n", sandbox.error().text().c_str()), 1;
  const auto say = [](Stream, std::string_view bytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    std::fflush(stdout);
  };
  (void)sandbox->run({.script = "sleep 1000 & setsid sleep 1000 & echo ready; sleep 1000"}, {.output = say});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--owner") == 0) return own(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  if (const std::string why = testing_helpers::engine_why_not(); !why.empty()) return std::puts(why.c_str()), 77;
  auto* report = cove::conformance::make_report();  // opened with the rights that we still have
  testing_helpers::become_test_user();
  ::testing::AddGlobalTestEnvironment(new NothingLeft);
  ::testing::UnitTest::GetInstance()->listeners().Append(report);
  return RUN_ALL_TESTS();
}
