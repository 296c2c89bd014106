#pragma once

// A container for a sandbox, as the words of one `run`.
//
//   what                                                  why
//   --cap-drop ALL, --cap-add DAC_OVERRIDE, CHOWN,        root inside can install packages and change users, nothing
//     FOWNER, SETUID, SETGID                              else of what root can
//   --security-opt no-new-privileges                      no set-id program gives any back
//   the engine's own system call filter                   (nothing is said, so the default stands)
//   --pids-limit 256, or --pids                           a fork bomb ends at its own wall
//   --tmpfs /tmp exec,nosuid 512 MB                       builds run programs there
//   --tmpfs /var/tmp, /run noexec,nosuid                  nobody needs to
//   --cgroupns private, --ulimit core=0                   it sees no group but its own, and leaves no dumps
//   --init                                                somebody reaps
//   --network none                                        unless --net says otherwise
//   no --env                                              variables go over the channel: in no argument list, in no
//                                                         `inspect`
//   --log-driver none, --no-healthcheck                   the engine keeps and runs nothing of its own
//
// Each row that can be seen from inside is read back there by tests/engines/hardening_test.cc. The image's files stay
// writable, so that packages can be installed.

#include <string>
#include <vector>

#include "backend/engine/facts.h"
#include "spec/spec.h"

namespace cove::engine {

inline constexpr std::uint32_t kUsualPids = 256;
inline constexpr const char* kGuestInside = "/cove/guest";
inline constexpr const char* kChannelInside = "/cove/channel";
inline constexpr const char* kSocketInside = "/cove/channel/socket";

// Refuses, with the option's name, what this engine cannot honour.
Result<void> check(const SandboxSpec& spec, const Program& program, const Facts& facts);

struct RunWords {
  std::vector<std::string> words;  // after `run` or `create`, without the image
  std::string digest;              // of all that a container that is used again must agree with
};
// With direct: the guest and the channel's directory are mounts of ours. Otherwise the channel is in the container's
// memory, and the guest has to be copied in where the engine does not see our files.
enum class Way : unsigned char { direct, relayed, remote };
Result<RunWords> run_words(const SandboxSpec& spec, const Facts& facts, Way way);
// What the container runs, after the image.
std::vector<std::string> command_words();

// Directories below the sandbox's own.
std::string channel_directory(const SandboxSpec& spec);
std::string workspace_directory(const SandboxSpec& spec);
std::string home_directory(const SandboxSpec& spec);

}  // namespace cove::engine
