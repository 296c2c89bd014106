// The command lines, in the options that apptainer 1.1 and singularity-ce 3.11 have. No such program could be had
// where they were written: they say what we mean, not that it was seen to work.

#include "backend/apptainer/lines.h"

#include <gtest/gtest.h>

namespace cove::apptainer {
namespace {

using Line = std::vector<std::string>;

TEST(ApptainerLines, AnInstanceThatKeepsNothing) {
  EXPECT_EQ(start_line({.name = "cove-1", .image = "/images/debian.sif", .guest = "/usr/lib/cove/cove-guest"}),
            (Line{"instance", "start", "--containall", "--no-home", "--cleanenv", "--no-privs", "--writable-tmpfs",
                  "--net", "--network", "none", "--bind", "/usr/lib/cove/cove-guest:/.cove-guest:ro",
                  "/images/debian.sif", "cove-1"}));
}

TEST(ApptainerLines, APersistentInstanceWithVolumesAndLimits) {
  EXPECT_EQ(
      start_line({.name = "cove-1",
                  .image = "/images/root",
                  .guest = "/g",
                  .overlay = "/state/overlay",
                  .volumes = {"/data:/data:ro"},
                  .network = "host",
                  .cpus = 1.5,
                  .memory_bytes = 536870912,
                  .pids = 256}),
      (Line{
          "instance",       "start",     "--containall",       "--no-home", "--cleanenv",     "--no-privs", "--overlay",
          "/state/overlay", "--bind",    "/g:/.cove-guest:ro", "--bind",    "/data:/data:ro", "--cpus",     "1.5",
          "--memory",       "536870912", "--pids-limit",       "256",       "/images/root",   "cove-1"}));
}

TEST(ApptainerLines, ExecStopAndBuild) {
  EXPECT_EQ(exec_line("cove-1"),
            (Line{"exec", "--containall", "--no-home", "--cleanenv", "instance://cove-1", "/.cove-guest", "--stdio"}));
  EXPECT_EQ(stop_line("cove-1"), (Line{"instance", "stop", "--force", "cove-1"}));
  EXPECT_EQ(build_line("docker://debian:12", "/cache/x.sif"),
            (Line{"build", "--force", "/cache/x.sif", "docker://debian:12"}));
  EXPECT_TRUE(build_line("/images/debian.sif", "/cache/x.sif").empty());
}

TEST(ApptainerLines, VersionsAreReadAndOldOnesRefused) {
  const auto apptainer = read_version("apptainer version 1.1.9-1");
  ASSERT_TRUE(apptainer);
  EXPECT_EQ(apptainer->program, "apptainer");
  EXPECT_EQ(apptainer->minor, 1);
  EXPECT_TRUE(read_version("singularity-ce version 3.11.4-jammy"));
  EXPECT_FALSE(read_version("singularity version 3.5.2"));
  EXPECT_FALSE(read_version("Docker version 20.10"));
  EXPECT_FALSE(read_version(""));
}

}  // namespace
}  // namespace cove::apptainer
