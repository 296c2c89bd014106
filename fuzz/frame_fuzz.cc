// A hostile peer's byte stream, read in pieces: the first byte seeds the sizes of the pieces, the rest is the stream.
// Promise: messages or a protocol error, and the same messages however the stream was cut.

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "all_messages.h"
#include "fuzz.h"
#include "proto/frame.h"

namespace cove::fuzz {
namespace {

void decode_as_everything(std::string_view payload) {
  AllMessages::each([&]<class T>() {
    const auto decoded = proto::decode<T>(payload);
    require(decoded || decoded.error().code == Errc::protocol);
  });
}

// What the stream says, as text: one entry per message, and "error" if it ends with one.
std::vector<std::string> read_stream(std::string_view stream, std::minstd_rand* sizes) {
  proto::MessageReader reader;
  std::vector<std::string> said;
  while (!stream.empty()) {
    const auto space = reader.space();
    const std::size_t piece = sizes == nullptr ? stream.size() : 1 + (*sizes)() % 40;
    const std::size_t size = std::min({piece, space.size(), stream.size()});
    std::memcpy(space.data(), stream.data(), size);
    reader.filled(size);
    stream.remove_prefix(size);
    while (true) {
      const auto message = reader.next();
      if (!message) {
        require(message.error().code == Errc::protocol);
        said.emplace_back("error");
        return said;
      }
      if (!*message) break;
      said.push_back(std::to_string((*message)->type) + " " + std::to_string((*message)->id) + " ");
      said.back().append((*message)->payload);
      if (sizes != nullptr) decode_as_everything((*message)->payload);
    }
  }
  return said;
}

}  // namespace
}  // namespace cove::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::minstd_rand sizes(data[0] + 1U);
  cove::fuzz::require(cove::fuzz::read_stream(stream, nullptr) == cove::fuzz::read_stream(stream, &sizes));
  return 0;
}
