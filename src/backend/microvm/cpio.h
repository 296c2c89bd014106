#pragma once

// The archive that the kernel unpacks into its first root: cpio in the "newc" form. Pure: bytes in, bytes out.

#include <cstdint>
#include <string>
#include <string_view>

namespace cove::microvm {

class CpioWriter {
 public:
  void add_directory(std::string_view path, std::uint32_t mode = 0755);
  void add_file(std::string_view path, std::string_view bytes, std::uint32_t mode = 0644);
  void add_device(std::string_view path, std::uint32_t mode, std::uint32_t major, std::uint32_t minor);
  // Once; what the kernel reads to its end.
  std::string finish();

 private:
  struct Entry {
    std::uint32_t mode = 0, links = 1, major = 0, minor = 0;
  };
  void add(std::string_view path, const Entry& entry, std::string_view bytes);

  std::string out_;
  std::uint32_t last_inode_ = 0;
};

}  // namespace cove::microvm
