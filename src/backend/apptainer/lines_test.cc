// The command lines as they were recorded with apptainer 1.4.5 (Debian), which ran them; the options are those of
// apptainer 1.0 and singularity-ce 3.8 on.

#include "backend/apptainer/lines.h"

#include <gtest/gtest.h>

#include "backend/apptainer/explain.h"

namespace cove::apptainer {
namespace {

std::string text(const std::vector<std::string>& line) {
  std::string all;
  for (const std::string& word : line) all += (all.empty() ? "" : " ") + word;
  return all;
}

TEST(ApptainerLines, AnInstanceThatKeepsNothing) {
  InstanceSpec spec{.name = "cove-1", .image = "/i/debian.sif", .guest = "/lib/cove-guest", .work = "/s/1/work"};
  EXPECT_EQ(text(start_line(spec)),
            "instance start --containall --no-home --cleanenv --no-privs --uts --writable-tmpfs --no-mount sys "
            "--workdir /s/1/work --net --network none --bind /lib/cove-guest:/.cove-guest:ro "
            "--bind /lib/cove-guest:/.singularity.d/startscript:ro /i/debian.sif cove-1 --nothing");
  spec.unpacked = true;
  EXPECT_NE(text(start_line(spec)).find(" --unsquash --net "), std::string::npos);
}

TEST(ApptainerLines, APersistentInstanceWithVolumesAndLimits) {
  EXPECT_EQ(text(start_line({.name = "cove-1",
                             .image = "/images/root",
                             .guest = "/g",
                             .overlay = "/s/overlay",
                             .work = "/s/work",
                             .binds = {"/s/workspace:/workspace", "/data:/data:ro"},
                             .network = "host",
                             .cpus = 1.5,
                             .memory_bytes = 536870912,
                             .pids = 256})),
            "instance start --containall --no-home --cleanenv --no-privs --uts --overlay /s/overlay --no-mount sys "
            "--workdir /s/work --bind /g:/.cove-guest:ro --bind /g:/.singularity.d/startscript:ro "
            "--bind /s/workspace:/workspace --bind /data:/data:ro --cpus 1.5 --memory 536870912 --pids-limit 256 "
            "/images/root cove-1 --nothing");
}

TEST(ApptainerLines, ExecStopAndBuild) {
  EXPECT_EQ(text(exec_line("cove-1")),
            "exec --cleanenv --no-privs --pwd /workspace instance://cove-1 /.cove-guest --stdio --alone");
  EXPECT_EQ(text(stop_line("cove-1")), "instance stop --force cove-1");
  EXPECT_EQ(text(build_line("docker://debian:12", "/cache/x.sif")), "build --force /cache/x.sif docker://debian:12");
}

TEST(ApptainerLines, ImagesAreFilesDirectoriesAddressesOrNames) {
  EXPECT_EQ(read_image("/images/debian.sif")->path, "/images/debian.sif");
  EXPECT_EQ(read_image("docker://debian:12")->address, "docker://debian:12");
  EXPECT_EQ(read_image("docker-archive:/x.tar")->address, "docker-archive:/x.tar");
  EXPECT_EQ(read_image("debian:12")->address, "docker://debian:12");
  for (const char* none : {"", "host", "--writable", "instance://other"}) EXPECT_FALSE(read_image(none)) << none;
}

TEST(ApptainerLines, VersionsAreReadAndOldOnesRefused) {
  const auto apptainer = read_version("apptainer version 1.1.9-1");
  ASSERT_TRUE(apptainer);
  EXPECT_EQ(apptainer->program, "apptainer");
  EXPECT_EQ(apptainer->minor, 1);
  EXPECT_EQ(apptainer->text, "apptainer 1.1.9-1");
  EXPECT_TRUE(read_version("singularity-ce version 3.11.4-jammy"));
  EXPECT_FALSE(read_version("singularity version 3.5.2"));
  EXPECT_FALSE(read_version("Docker version 20.10"));
  EXPECT_FALSE(read_version(""));
}

TEST(ApptainerExplain, EachMessageIsASentenceWithAWayOut) {
  const struct {
    const char *said, *remedy;
    Errc code;
  } cases[] = {
      {"FATAL:   no instance found with name x", "not there any more", Errc::not_found},
      {"FATAL:   While performing build: conveyor failed to get: unauthorized: authentication required", "log in",
       Errc::denied},
      {"FATAL:   While performing build: dial tcp: lookup registry: no such host", "a .sif file", Errc::disconnected},
      {"FATAL:   could not open image /x.sif: failed to retrieve path for /x.sif", "give a .sif file", Errc::not_found},
      {"FATAL:   write /scratch/x: no space left on device", "COVE_SCRATCH_DIR", Errc::busy},
      {"ERROR  : Failed to create user namespace: not allowed to create user namespace", "user.max_user_namespaces",
       Errc::unsupported},
  };
  for (const auto& each : cases) {
    const Error error = explain("start the instance", {255, "", each.said});
    EXPECT_EQ(error.code, each.code) << error.text();
    EXPECT_NE(error.message.find(each.remedy), std::string::npos) << error.text();
  }
  EXPECT_EQ(explain("x", {1, "", "INFO:    a\n\x1b[31mFATAL:   some\x07thing\x1b[0m\nINFO:    b\n"}).message,
            "x: some thing [0m");
}

}  // namespace
}  // namespace cove::apptainer
