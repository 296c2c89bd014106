#pragma once

// How a client starts a keeper: `cove keeper` with a socket as its descriptor 3 and nothing in its arguments. The
// client writes one message (type 0, the encoded LaunchRequest), the keeper answers with one ClientType::done (with
// what there is to know about it, as text) when the sandbox is ready, or ClientType::error. Of an owned sandbox the
// socket is the lifetime from then on: end of file means that the owner is gone. Who asked for one without an owner
// answers `done` with a byte, then both close it: one that nobody has heard of, because its client was interrupted, is
// ended again.
//
// A client that makes sandboxes one after the other starts `cove keeper nursery` (client/nursery.h). There descriptor 3
// is a SOCK_SEQPACKET socket; every packet names the backend that is probably asked for and brings a socket as
// above, for which the nursery makes a keeper by fork. It ends with its client.

#include "proto/codec.h"
#include "spec/spec.h"

namespace cove::proto {

inline constexpr int kLaunchFd = 3;
inline constexpr const char* kNursery = "nursery";

struct LaunchRequest {
  bool restart = false;  // the sandbox exists (persistent, stopped): only spec.name and forwarded env are used
  SandboxSpec spec;
  bool forget = false;  // ... and is to be no more: only spec.name is used
  template <class Ar, class Self>
  static void fields(Ar& ar, Self& s) {
    ar(s.restart, s.spec, s.forget);
  }
};

}  // namespace cove::proto
