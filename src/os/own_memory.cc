#include "os/own_memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace cove::os {
namespace {

// What to do with constant parts of the program and with those that are written.
struct Advice {
  int constant, written;
};
constexpr int kNone = -1;

int advise(dl_phdr_info* object, std::size_t, void* given) {
  const Advice& advice = *static_cast<const Advice*>(given);
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const int what = (segment.p_flags & PF_W) != 0 ? advice.written : advice.constant;
    if (segment.p_type != PT_LOAD || what == kNone) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_filesz;
    madvise(reinterpret_cast<void*>(begin), end - begin, what);
  }
  return 1;  // only the first object: the program itself
}

}  // namespace

void give_memory_back() {
  malloc_trim(0);
  Advice advice{MADV_DONTNEED, kNone};
  dl_iterate_phdr(advise, &advice);
}

void take_memory() {
  Advice advice{MADV_POPULATE_READ, MADV_POPULATE_WRITE};
  dl_iterate_phdr(advise, &advice);
}

}  // namespace cove::os
