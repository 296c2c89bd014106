// What a command writes to its capture descriptor is hostile: any bytes give a state or none.

#include <cstdint>
#include <string_view>

#include "session/declarations.h"
#include "session/dialect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto& entry : cove::session::split_declarations(bytes)) {
    if (entry.name.empty() || entry.name.size() > entry.text.size()) __builtin_trap();
  }
  for (const auto* dialect : {&cove::session::bash_dialect(), &cove::session::posix_dialect()}) {
    dialect->read_ending(bytes);
    const auto captured = dialect->read_capture(bytes, cove::session::State{}, size % 2 == 0);
    if (!captured) continue;
    const cove::session::State& state = *captured;
    if (state.umask < 0 || state.umask > 0777 || state.last_status < 0 || state.last_status > 255) __builtin_trap();
  }
  return 0;
}
