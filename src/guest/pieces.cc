#include "guest/pieces.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "proto/machine.h"

namespace cove::guest {
namespace {

bool write_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int fd, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = read(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

bool send_pieces(int from, int port) {
  std::vector<char> bytes(proto::kPieceBytes);
  while (true) {
    const ssize_t n = read(from, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    const auto size = static_cast<std::uint32_t>(n > 0 ? n : 0);
    if (!write_all(port, reinterpret_cast<const char*>(&size), sizeof(size))) return false;
    if (size == 0) return n == 0;
    if (!write_all(port, bytes.data(), size)) return false;
  }
}

bool take_pieces(int port, int to, std::uint64_t most) {
  std::vector<char> bytes(proto::kPieceBytes);
  for (bool good = true;;) {
    std::uint32_t size = 0;
    if (!read_all(port, reinterpret_cast<char*>(&size), sizeof(size)) || size > bytes.size()) return false;
    if (size == 0) return good;
    if (size > most) return false;
    most -= size;
    if (!read_all(port, bytes.data(), size)) return false;
    good = good && write_all(to, bytes.data(), size);
  }
}

}  // namespace cove::guest
