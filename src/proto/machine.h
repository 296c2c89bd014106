#pragma once

// A keeper's backend and the guest of a microVM, over a second port beside the channel: what a machine must be told
// before its guest is spoken to, at each beginning of a stream. One request, one answer, frames as on the channel.
//
// The channel's port never closes, and what one side has written before a break may still be in it. So each stream has
// a mark, too long to be met by chance: the guest drops all before it and answers with the mark itself, and the other
// side drops all before that.

#include "proto/messages.h"

namespace cove::proto {

inline constexpr std::size_t kMarkBytes = 32;

enum class MachineType : std::uint8_t {
  ready,  // answered as soon as there is a guest; before its memory is saved for others
  renew,
  sync,  // what was written goes to the disk
  put,   // FileRequest: its input comes by a third port, in pieces, each after its size (u32); 0 ends them
  get,   // ... its output goes there likewise; answered when it is done
  volume,
};
constexpr MachineType last(MachineType) { return MachineType::volume; }
inline constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

// A machine that goes on from saved memory believes to be the one that was saved.
struct Renew {
  std::string mark;               // of the next stream
  std::uint64_t realtime_ns = 0;  // since 1970
  std::string seed;               // random bytes that nobody else gets
  std::string hostname;           // "": as it is; these four likewise
  std::string machine_id;         // 32 hex digits
  std::string boot_id;            // as the kernel writes it
  std::string hardware_address;   // six bytes, of its network device
  std::string resolv_conf;
  std::uint32_t pids = 0;  // how many processes there may be; 0: no limit
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.mark, s.realtime_ns, s.seed, s.hostname, s.machine_id, s.boot_id, s.hardware_address, s.resolv_conf, s.pids);
  }
};

// A place for files of the host: empty and in memory, or, when they are there, closed.
struct MachineVolume {
  std::string path;
  bool read_only = false;
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.path, s.read_only);
  }
};

struct MachineAnswer {
  std::string error_text;  // "": done
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.error_text);
  }
};

}  // namespace cove::proto
