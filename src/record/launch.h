#pragma once

// How a client starts a keeper: `cove keeper` with two descriptors and nothing in its arguments.
//
//   3  a socket: the client writes one message (type 0, the encoded LaunchRequest), the keeper answers with one
//      ClientType::done (with what there is to know about it, as text) when the sandbox is ready, or ClientType::error;
//      then both close it. Who asked for a sandbox without an owner answers `done` with a byte first: one that nobody
//      has heard of, because its client was interrupted, is ended again
//   4  the lifetime pipe's read end, of an owned sandbox: end of file means that the owner is gone

#include "backend/spec.h"
#include "proto/codec.h"

namespace cove::record {

inline constexpr int kLaunchFd = 3;
inline constexpr int kLifetimeFd = 4;

struct LaunchRequest {
  bool restart = false;  // the sandbox exists (persistent, stopped): only spec.name and forwarded env are used
  SandboxSpec spec;
  bool forget = false;  // ... and is to be no more: only spec.name is used
};

std::string encode(const LaunchRequest& request);
Result<LaunchRequest> decode_launch(std::string_view payload);

}  // namespace cove::record
