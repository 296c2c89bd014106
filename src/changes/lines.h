#pragma once

// The lines that differ between two texts: Myers' algorithm in linear space (divide at the middle of a shortest edit).
// Work is bounded: texts that differ too much for the budget are compared roughly, which gives a correct but longer
// difference. The same texts always give the same result.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cove::changes {

// Lines [a_begin, a_end) of the first text are replaced by [b_begin, b_end) of the second; one of them may be empty.
struct Edit {
  std::size_t a_begin = 0, a_end = 0, b_begin = 0, b_end = 0;
};

// With their newlines; the last one may have none.
std::vector<std::string_view> split_lines(std::string_view text);

inline constexpr std::uint64_t kDiffBudget = 40'000'000;  // steps: a fraction of a second
std::vector<Edit> diff_lines(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
                             std::uint64_t budget = kDiffBudget);

// The hunks of a unified difference, three lines of context: "" for equal texts.
std::string unified(std::string_view a, std::string_view b);

}  // namespace cove::changes
