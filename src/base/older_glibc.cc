// Random numbers for the C++ runtime that is linked into libcove.so and cove-image: it asks for arc4random, which came
// with glibc 2.36. With these they also run on 2.35, as Ubuntu 22.04 has it; what else they need is older.

#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" {

void arc4random_buf(void* buffer, size_t size) noexcept {
  auto* to = static_cast<unsigned char*>(buffer);
  while (size > 0) {
    const ssize_t got = getrandom(to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) std::abort();  // a kernel before 3.17, or a filter that refuses it: there is no second source
    to += got;
    size -= static_cast<size_t>(got);
  }
}

std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  arc4random_buf(&number, sizeof(number));
  return number;
}

}  // extern "C"
