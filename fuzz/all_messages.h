#pragma once

// Every message that can arrive on a channel or a sandbox's socket, in one place.

#include <string_view>

#include "proto/client.h"
#include "proto/guest.h"

namespace cove::fuzz {

template <class... T>
struct Messages {
  static constexpr std::size_t kCount = sizeof...(T);

  // visit.operator()<T>(), for every message type.
  template <class Visit>
  static void each(Visit visit) {
    (visit.template operator()<T>(), ...);
  }
};

using AllMessages =
    Messages<proto::KeeperHello, proto::GuestHello, proto::Start, proto::Started, proto::Exited, proto::SessionState,
             proto::Signal, proto::Resize, proto::Credit, proto::FileRequest, proto::FileInfo, proto::FileList,
             proto::Hello, proto::Run, proto::Attach, proto::CommandRef, proto::SignalCommand, proto::CommandStarted,
             proto::OutputHeader, proto::Outcome, proto::Text, proto::ErrorReply, proto::StopRequest, proto::Feed>;

}  // namespace cove::fuzz
