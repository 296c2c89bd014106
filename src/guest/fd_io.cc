#include "guest/fd_io.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace cove::guest {

Result<std::size_t> read_some(int fd, char* to, std::size_t bytes, std::string_view what) {
  for (;;) {
    const ssize_t got = ::read(fd, to, bytes);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return fail_errno(what);
  }
}

Result<void> write_all(int fd, std::string_view bytes, std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(put));
    else if (errno != EINTR)
      return fail_errno(what);
  }
  return {};
}

Result<void> copy_bytes(const CopySpec& spec) {
  const std::unique_ptr<char[]> buffer(new char[kIoBytes]);
  for (std::uint64_t left = spec.limit; left > 0;) {
    const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(left, kIoBytes));
    COVE_TRY(const std::size_t got, read_some(spec.from, buffer.get(), want, spec.from_what));
    if (got == 0) break;
    COVE_CHECK(write_all(spec.to, {buffer.get(), got}, spec.to_what));
    left -= got;
  }
  return {};
}

}  // namespace cove::guest
