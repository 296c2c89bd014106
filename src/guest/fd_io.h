#pragma once

// Blocking reads and writes that survive EINTR. `what` is the sentence's beginning on failure: "read /etc/x".

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cove::guest {

inline constexpr std::size_t kIoBytes = std::size_t{128} << 10;
inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// 0 is the end of the file.
Result<std::size_t> read_some(int fd, char* to, std::size_t bytes, std::string_view what);
Result<void> write_all(int fd, std::string_view bytes, std::string_view what);

struct CopySpec {
  int from = -1, to = -1;
  std::string_view from_what, to_what;  // "read /etc/x", "write output"
  std::uint64_t limit = kNoLimit;
};
// Until the end of the file or the limit.
Result<void> copy_bytes(const CopySpec& spec);

// Where a reader's bytes come from, so that it can be tested without a descriptor.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual Result<std::size_t> read(char* to, std::size_t bytes) = 0;  // 0: the end
};

class FdSource final : public ByteSource {
 public:
  FdSource(int fd, std::string_view what) : fd_(fd), what_(what) {}
  Result<std::size_t> read(char* to, std::size_t bytes) override { return read_some(fd_, to, bytes, what_); }

 private:
  int fd_;
  std::string what_;
};

}  // namespace cove::guest
