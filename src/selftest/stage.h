#pragma once

// What the attempts share: the sandbox, the bait, and the time they have.

#include <memory>
#include <optional>

#include "selftest/bait.h"
#include "selftest/judge.h"
#include "selftest/outside.h"

namespace cove::selftest {

class Stage {
 public:
  // `base` says which backend and image; the rest of a sandbox's properties are the attempts' business.
  static Result<std::unique_ptr<Stage>> set(const SandboxSpec& base, std::stop_token stop);
  ~Stage();

  // What keepers have in their environment under this name, with the secret in it, and a sandbox must not see.
  static constexpr const char* kVariable = "COVE_SELFTEST_SECRET";

  // Starts the clock for one attempt. Afterwards everything that waits ends in time.
  void begin();
  Call call() const { return {.deadline = deadline_, .stop = stop_}; }

  const Bait& bait() const { return bait_; }
  Bait& bait() { return bait_; }
  HostProcess& process();  // a living one
  const std::string& backend() const { return base_.backend; }

  // The sandbox of most attempts, made again if it is gone.
  Result<Inside*> inside();
  // An act, a script in it, and what the act says about itself.
  Ran act(const std::vector<std::string>& words, Inside::On on = Inside::On::pipes);
  Ran shell(const std::string& script);
  Verdict tried(const std::vector<std::string>& words) { return judge(act(words)); }

  // A sandbox of an attempt's own.
  SandboxSpec spec() const;
  Result<Inside> make(const SandboxSpec& spec);

  // A sandbox with two host directories: `volume()` to be written, `frozen()` only to be read. Where a backend knows no
  // volumes because it shares the host's files, they are where they are on the host.
  struct Volumes {
    Inside inside;
    std::string writable, frozen;  // their names inside
    bool real = true;
  };
  Result<Volumes*> volumes();
  std::string shelf() const { return bait_.work() + "/shelf"; }  // holds them, and a secret beside them
  std::string volume() const { return shelf() + "/volume"; }
  std::string frozen() const { return shelf() + "/frozen"; }

 private:
  Stage(SandboxSpec base, Bait bait) : base_(std::move(base)), bait_(std::move(bait)) {}
  Result<Volumes> make_volumes();

  SandboxSpec base_;
  Bait bait_;
  std::string program_path_, program_;
  std::optional<HostProcess> process_;
  std::optional<Inside> inside_;
  std::optional<Volumes> volumes_;
  Deadline deadline_ = Deadline::never();
  std::stop_token stop_;
};

}  // namespace cove::selftest
