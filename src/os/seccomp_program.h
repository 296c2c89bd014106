#pragma once

// Puts a filter program together, for seccomp_compile.

#include <linux/filter.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <vector>

namespace cove::seccomp {

// A place in a program, to jump to.
using Position = std::size_t;

// What an argument may be. Its lower 32 bits are looked at: the kernel takes those that matter here as such numbers,
// and a filter that compared all 64 would miss a value with something in its upper half.
enum class Is : unsigned char { equal, not_equal, any_bit_of };
struct Test {
  unsigned argument;
  Is is;
  std::uint32_t value;
  std::uint32_t action;  // if so; otherwise the next test decides
};
using Tests = std::vector<Test>;

// Calls from this number to the next range's.
struct Range {
  std::uint32_t first;
  Position decision;
};
using Ranges = std::vector<Range>;

// Written from its end to its beginning: jumps lead forward only, so every target is there already. The actions come
// last of all and are shared. A jump that is too long for its eight bits ends the build.
class Program {
 public:
  explicit Program(std::initializer_list<std::uint32_t> actions);
  Position decide(std::uint32_t action) const { return actions_.at(action); }
  Position test(const Tests& tests, std::uint32_t otherwise);
  // The beginning: the architecture, then a binary search for the number. `ranges` starts with 0.
  void finish(std::uint32_t architecture, const Ranges& ranges, std::uint32_t foreign);
  void write(const char* name) const;

 private:
  Position put(std::uint16_t code, std::uint32_t k);
  Position jump(std::uint16_t test, std::uint32_t k, Position yes, Position no);
  Position search(const Range* begin, const Range* end);

  std::vector<sock_filter> reversed_;
  std::map<std::uint32_t, Position> actions_;
};

}  // namespace cove::seccomp
