#include "image/bars.h"

#include <gtest/gtest.h>

#include "image/fetch.h"

namespace {

using namespace std::chrono_literals;
using cove::image::Bar;
using cove::image::human_bytes;
using cove::image::human_time;
using cove::image::LayerState;
using cove::image::render;

Bar moving() { return {"sha256:0123456789abcdef0123", LayerState::fetching, 5 << 20, 10 << 20, 1 << 20}; }

TEST(Bars, AWideTerminalShowsEverything) {
  const std::string line = render(moving(), 120);
  for (const char* part : {"0123456789ab  ", "fetching", "[====", "5.0 MiB / 10.0 MiB", "1.0 MiB/s", "6s left"}) {
    EXPECT_NE(line.find(part), std::string::npos) << line;
  }
}

TEST(Bars, NoLineIsWiderThanTheTerminal) {
  for (const LayerState state : {LayerState::waiting, LayerState::elsewhere, LayerState::fetching, LayerState::fetched,
                                 LayerState::unpacking, LayerState::done, LayerState::present}) {
    Bar bar = moving();
    bar.state = state;
    for (std::size_t columns = 0; columns < 200; ++columns) EXPECT_LE(render(bar, columns).size(), columns);
  }
}

TEST(Bars, ANarrowTerminalKeepsTheDigest) { EXPECT_TRUE(render(moving(), 20).starts_with("0123456789ab")); }

TEST(Bars, AnUnknownSpeedHasNoRemainingTime) {
  Bar bar = moving();
  bar.bytes_per_second = 0;
  EXPECT_EQ(render(bar, 120).find("left"), std::string::npos);
  EXPECT_EQ(render(bar, 120).find("/s"), std::string::npos);
}

TEST(Bars, ALayerOfNoBytesIsFull) {
  Bar bar = moving();
  bar.bytes = bar.size = 0;
  EXPECT_EQ(render(bar, 120).find('>'), std::string::npos);
}

TEST(Bars, FinishedLayersSaySo) {
  Bar bar = moving();
  bar.state = LayerState::done;
  EXPECT_NE(render(bar, 80).find("done"), std::string::npos);
  bar.state = LayerState::present;
  EXPECT_NE(render(bar, 80).find("already there"), std::string::npos);
}

TEST(Bars, NumbersAreForPeople) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.0 KiB");
  EXPECT_EQ(human_bytes((std::uint64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(human_bytes(UINT64_MAX).substr(human_bytes(UINT64_MAX).size() - 3), "TiB");
  EXPECT_EQ(human_time(59s), "59s");
  EXPECT_EQ(human_time(185s), "3m05s");
  EXPECT_EQ(human_time(7800s), "2h10m");
}

}  // namespace
