#pragma once

// What makes places. A backend is a few hundred lines: make the place, bring the guest in, open the stream. Backends
// stand in one written-out table (table.h); nothing registers itself.

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "backend/capability.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "spec/spec.h"

namespace cove {

// Whether a backend can be used here, found out by trying, not by configuration.
struct Probe {
  bool usable = false;
  std::string version;
  std::string why_not;  // a sentence with the way out, when not usable
  Abilities capabilities;
};

// The duplex byte stream to the guest: bytes, nothing else. Both ends may be the same socket.
struct Channel {
  UniqueFd in;   // what the guest says
  UniqueFd out;  // what it is told
};

// Why a place is gone; the first cause wins.
struct Ended {
  std::string why;  // "the guest was killed by signal 9"
};

// Something of ours that nobody looks after any more.
struct Leftover {
  std::string kind;  // "cgroup", "directory"
  std::string name;  // the sandbox's, or the directory's
};

class Place {
 public:
  virtual ~Place() = default;
  // The stream to the guest; again after a disconnect where the place can. It may still be on its way when this
  // returns: the guest's first word says that it is there. not_found: there is no guest any more, nor will there be.
  virtual Result<Channel> connect(Deadline) = 0;
  // For how long a guest lives on without its channel, and for how long it is tried to reach it again. 0: not at all.
  virtual std::chrono::milliseconds reconnect_within() const { return {}; }
  // Why its guest never ran, once the channel has ended without a word of it.
  virtual Result<void> started() { return {}; }
  // Its guest has said its first word.
  virtual void has_answered() {}
  // Puts what only the place knows into the spec that sessions get: a home and a temporary directory that are in it.
  virtual void settle(SandboxSpec&) const {}
  // What whoever asked for the sandbox should know about how it came to be.
  virtual std::vector<std::string> notes() const { return {}; }
  // Readable (POLLIN) as soon as the place is gone; -1: only its channel tells.
  virtual int gone_fd() const = 0;
  // Valid once gone_fd is readable.
  virtual Ended ended() = 0;
  // How many processes a memory limit has ended so far.
  virtual std::uint64_t oom_kills() const { return 0; }
  // Whether there may be something to seal.
  virtual bool has_changes() const { return true; }
  // Where the place can (capability "snapshot"). What was changed since the last one becomes the sealed layer ID, and
  // the place goes on above it; false: nothing was changed.
  virtual Result<bool> seal(const std::string& /*id*/, Deadline) {
    return fail(Errc::unsupported, "this backend cannot seal its files: use --backend native");
  }
  // seal() needs what pause() needs: the channel let go of before, and another one afterwards.
  virtual bool seals_apart() const { return false; }
  // The place goes on above these sealed layers; what was changed since is gone.
  virtual Result<void> rewind(const std::vector<std::string>& /*layers*/, Deadline) {
    return fail(Errc::unsupported, "this backend cannot go back: use --backend native");
  }
  // After rewind() there is another guest, which connect() leads to and which knows nothing of the one before.
  virtual bool rewinds_to_new_guest() const { return false; }
  // Where the place can (capability "pause"): nothing inside runs from here to resume(), and then goes on where it was.
  // A place that can be connected to again has no channel meanwhile, and gone_fd may be another one afterwards. After a
  // pause that failed the place is as it was, or gone; after a resume that failed it is gone.
  virtual Result<void> pause(Deadline) {
    return fail(Errc::unsupported, "this backend cannot pause: use --backend gvisor or native");
  }
  virtual Result<void> resume(Deadline) { return {}; }
  // Where the place can (capability "snapshot:memory"). Everything that runs inside, with its files, is written into
  // DIRECTORY (there, private, empty), for SandboxSpec::memory; the place goes on afterwards. The channel and gone_fd
  // are as with pause(): let go of before, another one afterwards. After a failure the place is as it was, or gone.
  virtual Result<void> save_memory(const std::string& /*directory*/, Deadline) {
    return fail(Errc::unsupported,
                "this backend cannot save what runs: use --backend gvisor or microvm, or leave --memory out");
  }
  // ... of a place whose files are layers: at that same moment they become the sealed layer ID instead of going into
  // DIRECTORY; false: nothing was changed, or they have gone there.
  virtual Result<bool> save_memory_and_seal(const std::string& directory, const std::string& /*id*/,
                                            Deadline deadline) {
    COVE_CHECK(save_memory(directory, deadline));
    return false;
  }
  // Where volumes are copies: what was changed in them is brought to the host. A sentence for each file that was not,
  // because the host's has changed too, or it is of a kind that is never brought.
  virtual Result<std::vector<std::string>> sync_volumes(Deadline) { return std::vector<std::string>{}; }
  // Ends every process inside and frees what the sandbox held. Idempotent, also after a failed start.
  // When it returns without error nothing of the sandbox runs or lies on disk any more.
  virtual Result<void> destroy(Deadline) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual Probe probe(Deadline) = 0;
  // Only whether it can be used, if that is found out sooner. "": it can.
  virtual std::string why_not(Deadline deadline) {
    const Probe found = probe(deadline);
    return found.usable ? "" : found.why_not;
  }
  // Begins what takes long and is the same for most sandboxes, for the next start(), which also tells what went wrong.
  // Again: what is there already is good, or made anew. A directory that the spec has is the sandbox's, by whatever
  // name it has until then.
  virtual void prepare(const SandboxSpec&) {}
  // Polls with POLLPRI when what was prepared is out of date, and holds on to what others want to be rid of. -1: never.
  virtual int outdated_fd() const { return -1; }
  virtual void drop_prepared() {}
  // Refuses, with the option's name, what it cannot honour. On error nothing is left behind. The place may still be on
  // its way when this returns: the guest's first word says that it is there, the channel's end that it will not be.
  // With SandboxSpec::memory it is made from there instead of begun: connect() leads to a guest that is running and
  // waits for a hello with `resume`; files that the sandbox's directory has of before are given up.
  virtual Result<std::unique_ptr<Place>> start(const SandboxSpec&, Deadline) = 0;
  // Removes what a stopped sandbox keeps outside its directory. Idempotent. A backend that keeps something there leaves
  // the file record::kKeptOutside in the sandbox's directory, so that a client knows it must ask the backend.
  virtual Result<void> forget(const SandboxSpec& /*spec*/, Deadline) { return {}; }
  // What crashed keepers of this COVE_HOME left outside its directory, and its end.
  using Alive = std::function<bool(const std::string& sandbox)>;
  virtual Result<std::vector<Leftover>> leftovers(const std::string& /*home*/, const Alive&, Deadline) {
    return std::vector<Leftover>{};
  }
  virtual Result<void> clear(const std::string& /*home*/, const Leftover&, Deadline) { return {}; }
};

}  // namespace cove
