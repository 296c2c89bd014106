#include "changes/contents.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "changes/beneath.h"

namespace cove::changes {
namespace {

constexpr std::size_t kChunk = std::size_t{128} << 10;

// Up to `size` bytes; fewer at the end or after an error.
std::size_t read_full(int fd, char* bytes, std::size_t size) {
  std::size_t have = 0;
  while (have < size) {
    const ssize_t n = read(fd, bytes + have, size - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  return have;
}

}  // namespace

bool same_bytes(int a, int b, std::uint64_t size, std::uint64_t& budget) {
  if (size > budget) return false;
  budget -= size;
  static thread_local std::vector<char> left(kChunk), right(kChunk);
  while (true) {
    const std::size_t n = read_full(a, left.data(), kChunk);
    if (read_full(b, right.data(), kChunk) != n || std::memcmp(left.data(), right.data(), n) != 0) return false;
    if (n < kChunk) return true;
    if (size < kChunk) return false;  // both have grown meanwhile
    size -= kChunk;
  }
}

Result<std::string> read_entry(const Overlay& overlay, const std::string& path, const Entry& entry, std::size_t most) {
  COVE_TRY(const auto directory, overlay.open_directory(parent_of(path), {entry.layers.front()}));
  const int at = directory.in_layer(entry.layers.front());
  if (at < 0) return fail(Errc::not_found, path + " is gone");
  if (entry.kind() == Kind::symlink) return read_link_at(at, name_of(path));
  const UniqueFd fd = open_regular(at, name_of(path));
  if (!fd) return fail_errno("open " + path);
  const auto size = static_cast<std::uint64_t>(entry.info.st_size);
  if (size > most) return fail(Errc::busy, path + " is too large to show");
  std::string bytes(static_cast<std::size_t>(size) + 1, '\0');
  bytes.resize(read_full(fd.get(), bytes.data(), bytes.size()));
  return bytes;
}

}  // namespace cove::changes
