#include "backend/microvm/cpio.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cove::microvm {
namespace {

TEST(Cpio, AnArchiveBeginsAndEndsAsTheKernelWantsIt) {
  CpioWriter out;
  out.add_directory("dev");
  const std::string archive = out.finish();
  EXPECT_TRUE(archive.starts_with("07070100000001000041ED"));
  EXPECT_NE(archive.find("TRAILER!!!"), std::string::npos);
  EXPECT_EQ(archive.size() % 512, 0U);
}

TEST(Cpio, NamesAndBytesBeginAtMultiplesOfFour) {
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcde"}) {
    CpioWriter out;
    out.add_file(name, "BYTES");
    out.add_file("second", "x");
    const std::string archive = out.finish();
    EXPECT_EQ(archive.find("BYTES") % 4, 0U) << name;
    EXPECT_EQ(archive.find("second") % 4, (110U % 4)) << name;
  }
}

TEST(Cpio, AnotherProgramReadsWhatWasWritten) {
  std::string directory = std::filesystem::temp_directory_path() / "cove-cpio-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  CpioWriter out;
  out.add_directory("below");
  out.add_file("below/file", "what is in it\n", 0755);
  const std::string bytes = out.finish();
  std::ofstream(directory + "/archive") << bytes;
  EXPECT_EQ(std::system(("cd " + directory + " && bsdtar -xf archive").c_str()), 0);
  std::ifstream file(directory + "/below/file");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "what is in it");
  EXPECT_NE(std::filesystem::status(directory + "/below/file").permissions() & std::filesystem::perms::owner_exec,
            std::filesystem::perms::none);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace cove::microvm
