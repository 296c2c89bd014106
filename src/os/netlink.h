#pragma once

// Messages to the kernel's network, built in advance: sending allocates nothing, so that a forked child may do it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cove::os {

// Messages of one netlink protocol, one behind the other.
class NetlinkMessages {
 public:
  // Starts a message; `header` is what follows the general header (rtmsg, nfgenmsg).
  void begin(std::uint16_t type, std::uint16_t flags, std::string_view header);
  void attribute(std::uint16_t type, std::string_view bytes);
  void number(std::uint16_t type, std::uint32_t value);        // in network byte order, as nf_tables wants it
  void text(std::uint16_t type, std::string_view zero_ended);  // with its zero
  std::size_t begin_nested(std::uint16_t type);
  void end_nested(std::size_t start);

  // Sends all of them at once through a new socket of this protocol and waits for the answers. 0 or an errno. A message
  // without NLM_F_ACK is not waited for.
  int send(int protocol) const;

 private:
  void align();

  std::string bytes_;
  std::size_t message_ = 0;  // where the last one starts
  std::size_t answers_ = 0;
};

// The bytes of a plain struct.
template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace cove::os
