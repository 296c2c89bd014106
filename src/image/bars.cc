#include "image/bars.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "image/fetch.h"

namespace cove::image {
namespace {

constexpr std::size_t kShort = 12, kLeastBar = 10, kMostBar = 30;

std::string drawing(std::uint64_t bytes, std::uint64_t size, std::size_t width) {
  const double share = size == 0 ? 1 : std::min(1.0, static_cast<double>(bytes) / static_cast<double>(size));
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  std::string bar(full, '=');
  if (full < width) bar += '>';
  bar.resize(width, ' ');
  return "[" + bar + "]";
}

std::string_view word(LayerState state) {
  switch (state) {
    case LayerState::waiting: return "waiting";
    case LayerState::elsewhere: return "fetched by another process";
    case LayerState::fetching: return "fetching";
    case LayerState::fetched: return "to be unpacked";
    case LayerState::unpacking: return "unpacking";
    case LayerState::done: return "done";
    case LayerState::present: return "already there";
  }
  return "";
}

bool moves(LayerState state) { return state == LayerState::fetching || state == LayerState::unpacking; }

std::string remaining(const Bar& bar) {
  if (bar.bytes_per_second < 1 || bar.bytes >= bar.size) return "";
  const double seconds = static_cast<double>(bar.size - bar.bytes) / bar.bytes_per_second;
  return human_time(std::chrono::seconds(static_cast<long>(std::min(seconds, 1e6)) + 1)) + " left";
}

}  // namespace

std::string short_digest(const std::string& digest) { return digest.substr(digest.find(':') + 1, kShort); }

std::string human_time(std::chrono::seconds time) {
  const long all = time.count();
  std::array<char, 32> text{};
  if (all < 60) {
    std::snprintf(text.data(), text.size(), "%lds", all);
  } else if (all < 3600) {
    std::snprintf(text.data(), text.size(), "%ldm%02lds", all / 60, all % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%ldh%02ldm", all / 3600, all / 60 % 60);
  }
  return text.data();
}

std::string render(const Bar& bar, std::size_t columns) {
  std::string line = short_digest(bar.digest) + "  " + std::string(word(bar.state));
  const auto add = [&](const std::string& more) {
    if (!more.empty() && line.size() + 2 + more.size() <= columns) line += "  " + more;
  };
  if (moves(bar.state)) {
    line.resize(std::max(line.size(), kShort + 2 + 9), ' ');
    std::string bytes = human_bytes(bar.bytes) + " / " + human_bytes(bar.size);
    bytes.resize(std::max<std::size_t>(bytes.size(), 21), ' ');
    const std::string speed =
        bar.bytes_per_second < 1 ? "" : human_bytes(static_cast<std::uint64_t>(bar.bytes_per_second)) + "/s";
    const std::size_t fixed = line.size() + 2 + bytes.size() + 2 + 12 + 2 + 12 + 4;
    const std::size_t room = columns > fixed ? columns - fixed : 0;
    if (room >= kLeastBar) add(drawing(bar.bytes, bar.size, std::min(room, kMostBar)));
    add(bytes);
    add(speed);
    add(remaining(bar));
  } else {
    add(human_bytes(bar.size));
  }
  line.resize(std::min(line.size(), columns));
  return line;
}

}  // namespace cove::image
