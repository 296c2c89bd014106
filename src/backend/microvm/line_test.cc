#include "backend/microvm/line.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cove::microvm {
namespace {

std::string joined(const LineSpec& spec) {
  std::string all;
  for (const std::string& word : qemu_line(spec)) all += word + " ";
  return all;
}

LineSpec tcg() {
  LineSpec spec;
  spec.accel = {.kvm = false, .why = "no", .tsc_khz = 2445432};
  return spec;
}

TEST(QemuLine, NothingIsReachedByAPathOfTheHost) {
  LineSpec spec = tcg();
  spec.shape.disk_mib = 100;
  spec.shape.network = true;
  for (const std::string& word : qemu_line(spec)) {
    const std::size_t slash = word.find('/');
    if (slash == std::string::npos || word.find("rdinit=/init") != std::string::npos) continue;
    const std::string path = word.substr(slash);
    EXPECT_TRUE(path.starts_with("/proc/self/fd/") || path.starts_with("/dev/fdset/")) << word;
  }
}

TEST(QemuLine, TheSandboxOfQemuItselfIsOn) {
  EXPECT_NE(joined(tcg()).find("-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"),
            std::string::npos);
}

TEST(QemuLine, TranslatedKernelsAreToldTheRateOfTheClock) {
  EXPECT_NE(kernel_line(tcg()).find("tsc_early_khz=2445432"), std::string::npos);
  LineSpec kvm = tcg();
  kvm.accel.kvm = true;
  EXPECT_EQ(kernel_line(kvm).find("tsc_early_khz"), std::string::npos);
  EXPECT_EQ(kernel_line(kvm).find("norandmaps"), std::string::npos);
  EXPECT_NE(joined(kvm).find("-accel kvm -cpu host"), std::string::npos);
}

TEST(QemuLine, AMachineThatGoesOnNeedsNoKernel) {
  LineSpec spec = tcg();
  spec.begin = Begin::restore;
  EXPECT_EQ(joined(spec).find("-kernel"), std::string::npos);
  EXPECT_NE(joined(spec).find("-incoming defer"), std::string::npos);
  EXPECT_NE(joined(spec).find("share=off"), std::string::npos);
  EXPECT_NE(joined(tcg()).find("share=on"), std::string::npos);
}

TEST(QemuLine, WithoutANetworkThereIsNoDevice) {
  EXPECT_EQ(joined(tcg()).find("net"), std::string::npos);
  LineSpec spec = tcg();
  spec.shape.network = true;
  EXPECT_NE(joined(spec).find("virtio-net-device"), std::string::npos);
}

TEST(QemuLine, SizesAreWhatWasAskedFor) {
  LineSpec spec = tcg();
  spec.shape.memory_mib = 300;
  spec.shape.cpus = 3;
  EXPECT_NE(joined(spec).find("-smp 3 -m 300M"), std::string::npos);
  EXPECT_NE(joined(spec).find("size=300M"), std::string::npos);
}

}  // namespace
}  // namespace cove::microvm
