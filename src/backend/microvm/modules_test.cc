#include "backend/microvm/modules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cove::microvm {
namespace {

namespace fs = std::filesystem;

std::string module_with(const std::string& depends) {
  using namespace std::string_literals;
  return "\x7f"
         "ELF code\0license=GPL\0depends="s +
         depends + "\0name=it\0"s;
}

class Modules : public ::testing::Test {
 protected:
  Modules() {
    std::string path = fs::temp_directory_path() / "cove-modules-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) std::abort();
    directory_ = path;
  }
  ~Modules() override { fs::remove_all(directory_); }
  void put(const std::string& below, const std::string& depends) {
    fs::create_directories((directory_ / "kernel" / below).parent_path());
    std::ofstream(directory_ / "kernel" / below, std::ios::binary) << module_with(depends);
  }
  std::string order() const {
    const auto modules = modules_for_machine(directory_);
    if (!modules) return modules.error().text();
    std::string names;
    for (const Module& module : *modules) names += module.name + " ";
    return names;
  }
  fs::path directory_;
};

TEST_F(Modules, ComeAfterThoseThatTheyNeed) {
  put("drivers/virtio.ko", "virtio_ring");
  put("drivers/virtio_ring.ko", "");
  put("drivers/virtio_mmio.ko", "virtio,virtio_ring");
  put("fs/overlay.ko", "");
  EXPECT_EQ(order(), "virtio_ring virtio virtio_mmio overlay ");
  put("drivers/virtio.ko", "");
  put("drivers/virtio_ring.ko", "virtio");  // as it was in other kernels of the same version
  EXPECT_EQ(order(), "virtio virtio_ring virtio_mmio overlay ");
}

TEST_F(Modules, AreFoundByTheirNamesAndNotMissedWhereTheyArePartOfTheKernel) {
  put("fs/erofs.ko", "crc-both,lz4_of_the_kernel");
  put("lib/crc-both.ko", "");
  put("lib/nobody_needs_it.ko", "");
  EXPECT_EQ(order(), "crc_both erofs ");
  for (const char* none : {"", "/nowhere"}) EXPECT_EQ(modules_for_machine(none).value().size(), 0U) << none;
}

TEST_F(Modules, ThatAreCompressedAreRefusedUnlessNobodyNeedsThem) {
  put("fs/overlay.ko", "");
  put("fs/nobody_needs_it.ko.xz", "");
  EXPECT_EQ(order(), "overlay ");
  put("fs/erofs.ko.zst", "");
  EXPECT_NE(order().find("erofs.ko.zst is compressed"), std::string::npos) << order();
}

TEST_F(Modules, ThatNeedEachOtherOrTellNonsenseAreNoEndlessRound) {
  put("fs/overlay.ko", "erofs,overlay");
  put("fs/erofs.ko", "overlay,,");
  EXPECT_EQ(order(), "overlay erofs ");
  EXPECT_TRUE(needed_by("").empty());
  EXPECT_TRUE(needed_by("no facts, but depends=words").empty());
  EXPECT_EQ(needed_by(std::string_view("\0depends=cut off", 16)), std::vector<std::string>{"cut off"});
}

}  // namespace
}  // namespace cove::microvm
