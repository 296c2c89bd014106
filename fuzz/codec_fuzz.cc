// One payload for one message type, which the first byte chooses.
// Promise: a protocol error, or a value whose encoding is exactly these bytes again: a message has one form only.

#include "all_messages.h"
#include "fuzz.h"

namespace cove::fuzz {
namespace {

template <class T>
void round_trip(std::string_view payload) {
  const auto decoded = proto::decode<T>(payload);
  if (decoded) {
    require(proto::encode(*decoded) == payload);
  } else {
    require(decoded.error().code == Errc::protocol);
  }
}

}  // namespace
}  // namespace cove::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using cove::fuzz::AllMessages;
  if (size == 0) return 0;
  const std::string_view payload(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::size_t index = 0;
  AllMessages::each([&]<class T>() {
    if (index++ == data[0] % AllMessages::kCount) cove::fuzz::round_trip<T>(payload);
  });
  return 0;
}
