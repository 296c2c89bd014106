#include "changes/lines.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace cove::changes {
namespace {

constexpr std::size_t kContext = 3;
using Number = std::int64_t;
constexpr Number kUnreached = -(Number{1} << 40);

struct Box {
  Number a0, a1, b0, b1;
};

class Myers {
 public:
  Myers(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b, std::uint64_t budget)
      : budget_(budget), removed_(a.size()), added_(b.size()) {
    std::unordered_map<std::string_view, int> numbers;
    for (const auto line : a) a_.push_back(numbers.emplace(line, static_cast<int>(numbers.size())).first->second);
    for (const auto line : b) b_.push_back(numbers.emplace(line, static_cast<int>(numbers.size())).first->second);
  }

  std::vector<Edit> run() {
    compare({.a0 = 0, .a1 = static_cast<Number>(a_.size()), .b0 = 0, .b1 = static_cast<Number>(b_.size())});
    return edits();
  }

 private:
  // Each half has half of the differences: the recursion is as deep as the logarithm of their number.
  void compare(Box box) {
    while (box.a0 < box.a1 && box.b0 < box.b1 && a(box.a0) == b(box.b0)) ++box.a0, ++box.b0;
    while (box.a0 < box.a1 && box.b0 < box.b1 && a(box.a1 - 1) == b(box.b1 - 1)) --box.a1, --box.b1;
    const bool both = box.a0 < box.a1 && box.b0 < box.b1;
    if (const auto middle = both ? find_middle(box) : std::nullopt) {
      compare({.a0 = box.a0, .a1 = middle->first, .b0 = box.b0, .b1 = middle->second});
      compare({.a0 = middle->first, .a1 = box.a1, .b0 = middle->second, .b1 = box.b1});
      return;
    }
    std::fill(removed_.begin() + box.a0, removed_.begin() + box.a1, true);
    std::fill(added_.begin() + box.b0, added_.begin() + box.b1, true);
  }

  int a(Number i) const { return a_[static_cast<std::size_t>(i)]; }
  int b(Number i) const { return b_[static_cast<std::size_t>(i)]; }

  bool spend(std::uint64_t steps) {
    if (budget_ < steps) return budget_ = 0, false;
    return budget_ -= steps, true;
  }

  // How far diagonal k of the forward (or backward) search gets with one more edit.
  template <class Same>
  Number advance(std::vector<Number>& reach, Number k, Number d, const Box& box, Same same) {
    const Number n = box.a1 - box.a0, m = box.b1 - box.b0;
    const Number zero = m + 1;  // the index of diagonal 0; diagonals go from -m to n
    const Number below = reach[static_cast<std::size_t>(zero + k - 1)],
                 above = reach[static_cast<std::size_t>(zero + k + 1)];
    Number x = k == -d || (k != d && below < above) ? above : below + 1;
    const Number start = x;
    while (x >= 0 && x < n && x - k >= 0 && x - k < m && same(x, x - k)) ++x;
    steps_ += static_cast<std::uint64_t>(x - start) + 1;
    if (x > n || x - k > m) x = kUnreached;  // one step past the edge leads nowhere
    return reach[static_cast<std::size_t>(zero + k)] = x;
  }

  std::optional<std::pair<Number, Number>> find_middle(const Box& box) {
    const Number n = box.a1 - box.a0, m = box.b1 - box.b0, delta = n - m, zero = m + 1;
    const bool odd = delta % 2 != 0;
    if (!spend(static_cast<std::uint64_t>(n + m))) return std::nullopt;
    std::vector<Number> forward(static_cast<std::size_t>(n + m + 3), kUnreached), backward(forward);
    forward[static_cast<std::size_t>(zero + 1)] = backward[static_cast<std::size_t>(zero + 1)] = 0;
    const auto ahead = [&](Number x, Number y) { return a(box.a0 + x) == b(box.b0 + y); };
    const auto behind = [&](Number x, Number y) { return a(box.a1 - 1 - x) == b(box.b1 - 1 - y); };
    for (Number d = 0; d <= (n + m + 1) / 2; ++d) {
      steps_ = 0;
      const Number low = lowest(d, m), high = highest(d, n);
      for (Number k = low; k <= high; k += 2) {
        const Number x = advance(forward, k, d, box, ahead);
        if (odd && std::abs(delta - k) < d && x + backward[static_cast<std::size_t>(zero + delta - k)] >= n)
          return std::pair(box.a0 + x, box.b0 + x - k);
      }
      for (Number k = low; k <= high; k += 2) {
        const Number x = advance(backward, k, d, box, behind);
        if (!odd && std::abs(delta - k) <= d && x + forward[static_cast<std::size_t>(zero + delta - k)] >= n)
          return std::pair(box.a1 - x, box.b1 - (x - k));
      }
      if (!spend(steps_)) return std::nullopt;
    }
    return std::nullopt;
  }

  // The diagonals that edit number d can be on, without those outside the box.
  static Number lowest(Number d, Number m) { return d <= m ? -d : -m + ((d - m) % 2); }
  static Number highest(Number d, Number n) { return d <= n ? d : n - ((d - n) % 2); }

  std::vector<Edit> edits() const {
    std::vector<Edit> all;
    std::size_t i = 0, j = 0;
    while (i < removed_.size() || j < added_.size()) {
      Edit edit{.a_begin = i, .b_begin = j};
      while (i < removed_.size() && removed_[i]) ++i;
      while (j < added_.size() && added_[j]) ++j;
      edit.a_end = i, edit.b_end = j;
      if (edit.a_end > edit.a_begin || edit.b_end > edit.b_begin) all.push_back(edit);
      while (i < removed_.size() && j < added_.size() && !removed_[i] && !added_[j]) ++i, ++j;
    }
    return all;
  }

  std::vector<int> a_, b_;
  std::uint64_t budget_, steps_ = 0;
  std::vector<bool> removed_, added_;
};

std::string range(std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  std::string text = std::to_string(count == 0 ? begin : begin + 1);
  return count == 1 ? text : text + "," + std::to_string(count);
}

void put_lines(std::string& out, char mark, const std::vector<std::string_view>& lines, std::size_t begin,
               std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    out += mark;
    out += lines[i];
    if (!lines[i].ends_with('\n')) out += "\n\\ No newline at end of file\n";
  }
}

}  // namespace

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

std::vector<Edit> diff_lines(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
                             std::uint64_t budget) {
  return Myers(a, b, budget).run();
}

std::string unified(std::string_view a_text, std::string_view b_text) {
  const auto a = split_lines(a_text), b = split_lines(b_text);
  const auto edits = diff_lines(a, b);
  std::string out;
  for (std::size_t first = 0; first < edits.size();) {
    std::size_t last = first;
    while (last + 1 < edits.size() && edits[last + 1].a_begin - edits[last].a_end <= 2 * kContext) ++last;
    const std::size_t lead = std::min(kContext, edits[first].a_begin);
    const std::size_t trail = std::min(kContext, a.size() - edits[last].a_end);
    out += "@@ -" + range(edits[first].a_begin - lead, edits[last].a_end + trail);
    out += " +" + range(edits[first].b_begin - lead, edits[last].b_end + trail) + " @@\n";
    std::size_t at = edits[first].a_begin - lead;
    for (; first <= last; ++first) {
      put_lines(out, ' ', a, at, edits[first].a_begin);
      put_lines(out, '-', a, edits[first].a_begin, edits[first].a_end);
      put_lines(out, '+', b, edits[first].b_begin, edits[first].b_end);
      at = edits[first].a_end;
    }
    put_lines(out, ' ', a, at, at + trail);
  }
  return out;
}

}  // namespace cove::changes
