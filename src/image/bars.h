#pragma once

// A layer's line on a terminal, as text.

#include <chrono>
#include <string>

#include "image/progress.h"

namespace cove::image {

struct Bar {
  std::string digest;  // of the blob
  LayerState state = LayerState::waiting;
  std::uint64_t bytes = 0, size = 0;
  double bytes_per_second = 0;  // 0: not known yet
};

// At most `columns` wide, whatever that is. As it gets narrow it loses the remaining time, the speed, the bar, the
// bytes, in this order.
std::string render(const Bar& bar, std::size_t columns);

// "12s", "3m05s", "2h10m"
std::string human_time(std::chrono::seconds time);
// "3f4e5d6c7b8a": what people tell layers apart by.
std::string short_digest(const std::string& digest);

}  // namespace cove::image
