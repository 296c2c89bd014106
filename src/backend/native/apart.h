#pragma once

// A second thread between clone and exec: what takes long and needs nothing of the rest is done beside it.

#include <array>
#include <atomic>
#include <cstdint>

namespace cove::native {

// One act in a thread that shares everything with this one but its namespaces and its ids. Allocates nothing. The act
// must neither allocate nor take a lock, and gives 0 or an errno.
class Apart {
 public:
  using Act = int (*)(void*);

  // Does it here and now where no thread can be made.
  void start(Act act, void* argument);
  // Waits for its end; what the act gave. Without a start: 0.
  int join();

 private:
  static int enter(void* self);

  Act act_ = nullptr;
  void* argument_ = nullptr;
  std::atomic<std::uint32_t> over_{1};
  int result_ = 0;
  alignas(64) std::array<char, 65536> stack_;
};

}  // namespace cove::native
