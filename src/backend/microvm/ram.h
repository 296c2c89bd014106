#pragma once

// A machine's memory as files: while it runs a memory file, saved a sparse file on disk.

#include <sys/types.h>

#include <cstdint>
#include <future>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::microvm {

// Empty, for a machine that boots.
Result<UniqueFd> make_ram(std::uint64_t bytes);

// A saved one, to be mapped privately by any number of machines: sealed, so that none of them can change what the
// others see. If a keeper of ours that lives holds it already it is that very file, and what machines have in common
// is in memory once. Otherwise it fills while QEMU starts, which does not look at it before it is told to go on.
class SavedRam {
 public:
  static Result<SavedRam> open(const std::string& saved, const std::string& cache);
  int fd() const { return ram_.get(); }
  // Waits until all of it is there and sealed: before the machine goes on.
  Result<UniqueFd> take() &&;

 private:
  UniqueFd ram_;
  std::future<Result<void>> filled_;  // not valid: it was there already
  std::string list_;                  // where its holders stand
};

// A file where it is not empty: what is a hole stays one.
Result<void> copy_sparsely(int from, int to);

// What is not zero in it.
Result<void> save_ram(int ram, const std::string& into);
// The same of a machine that maps `ram` privately: with what it has written since.
Result<void> save_private_ram(pid_t machine, int ram, const std::string& into);

}  // namespace cove::microvm
