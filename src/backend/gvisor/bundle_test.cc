#include "backend/gvisor/bundle.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cove::gvisor {
namespace {

using Line = std::vector<std::string>;

TEST(GvisorBundle, GivesNoNewPrivilegesAndNothingOfTheHostButRootAndGuest) {
  const auto config = nlohmann::json::parse(make_config({.hostname = "t"}));
  EXPECT_EQ(config["process"]["noNewPrivileges"], true);
  EXPECT_EQ(config["hostname"], "t");
  for (const auto& capability : config["process"]["capabilities"]["bounding"]) {
    EXPECT_NE(capability, "CAP_SYS_ADMIN");
    EXPECT_NE(capability, "CAP_NET_RAW");
  }
  for (const auto& mount : config["mounts"]) {
    if (mount["type"] != "bind") continue;
    EXPECT_EQ(mount["source"], kGuest);
    EXPECT_EQ(mount["options"][0], "ro");
  }
}

TEST(GvisorBundle, AVolumeInTmpIsNotHidden) {
  EXPECT_NE(make_config({.hostname = "t"}).find("\"/tmp\""), std::string::npos);
  EXPECT_EQ(make_config({.hostname = "t", .own_tmp = false}).find("\"/tmp\""), std::string::npos);
}

// runsc 20221219.
TEST(GvisorBundle, CommandLinesAreThoseThatWereSeenToWork) {
  const RunscSpec spec{.id = "cove-1", .platform = "ptrace", .network = "none", .log_fd = 3};
  EXPECT_EQ(run_line(spec),
            (Line{"runsc", "--root=/tmp/run", "--log-fd=3", "--log-format=json", "--platform=ptrace", "--network=none",
                  "--ignore-cgroups", "--overlay2=none", "run", "--bundle=/tmp/bundle", "cove-1"}));
  EXPECT_EQ(relay_line({.id = "cove-1", .platform = "ptrace"}),
            (Line{"runsc", "--root=/tmp/run", "exec", "cove-1", "/cove/guest", "--relay", "/cove/run/guest"}));
}

}  // namespace
}  // namespace cove::gvisor
