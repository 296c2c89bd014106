#include "os/seccomp_program.h"

#include <linux/seccomp.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace cove::seccomp {
namespace {

// Both architectures are little-endian: the lower half comes first.
std::uint32_t offset_of_argument(unsigned number) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + number * sizeof(std::uint64_t));
}

}  // namespace

Program::Program(std::initializer_list<std::uint32_t> actions) {
  for (const std::uint32_t action : actions) actions_[action] = put(BPF_RET | BPF_K, action);
}

Position Program::put(std::uint16_t code, std::uint32_t k) {
  reversed_.push_back({code, 0, 0, k});
  return reversed_.size() - 1;
}

Position Program::jump(std::uint16_t test, std::uint32_t k, Position yes, Position no) {
  const Position after = reversed_.size() - 1;
  if (after - std::min(yes, no) > 255) {
    std::fprintf(stderr, "seccomp_compile: the filter has become too long for its jumps\n");
    std::exit(1);
  }
  reversed_.push_back({static_cast<std::uint16_t>(BPF_JMP | BPF_K | test), static_cast<std::uint8_t>(after - yes),
                       static_cast<std::uint8_t>(after - no), k});
  return reversed_.size() - 1;
}

Position Program::test(const Tests& tests, std::uint32_t otherwise) {
  Position next = decide(otherwise);
  for (std::size_t i = tests.size(); i-- > 0;) {
    const Test& test = tests[i];
    const Position hit = decide(test.action);
    next = test.is == Is::not_equal ? jump(BPF_JEQ, test.value, next, hit)
                                    : jump(test.is == Is::equal ? BPF_JEQ : BPF_JSET, test.value, hit, next);
    if (i == 0 || tests[i - 1].argument != test.argument) {
      next = put(BPF_LD | BPF_W | BPF_ABS, offset_of_argument(test.argument));
    }
  }
  return next;
}

Position Program::search(const Range* begin, const Range* end) {
  if (end - begin == 1) return begin->decision;
  const Range* middle = begin + (end - begin) / 2;
  const Position below = search(begin, middle);
  const Position above = search(middle, end);
  return jump(BPF_JGE, middle->first, above, below);
}

void Program::finish(std::uint32_t architecture, const Ranges& ranges, std::uint32_t foreign) {
  search(ranges.data(), ranges.data() + ranges.size());
  const Position known = put(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  jump(BPF_JEQ, architecture, known, decide(foreign));
  put(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
}

void Program::write(const char* name) const {
  std::printf("constexpr sock_filter %s[] = {\n", name);
  for (auto one = reversed_.rbegin(); one != reversed_.rend(); ++one) {
    std::printf("    {0x%x, %u, %u, 0x%x},\n", one->code, one->jt, one->jf, one->k);
  }
  std::printf("};\n");
}

}  // namespace cove::seccomp
