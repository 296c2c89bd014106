#pragma once

// One sandbox's container, by the engine's words. No call here is on the path of a command.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/engine/arguments.h"

namespace cove::engine {

class Container {
 public:
  static Result<Container> plan(const SandboxSpec& spec, const Program& program, const Facts& facts);
  // One that is there, to be removed.
  Container(Program program, std::string home, const std::string& sandbox);

  // The same sandbox's, as another spec wants it.
  Result<Container> of(const SandboxSpec& spec) const { return plan(spec, program_, facts_); }

  const std::string& name() const { return name_; }
  const std::string& home() const { return home_; }
  const Program& program() const { return program_; }
  Way way() const { return way_; }

  // Makes it and lets it run: one call, which the caller waits for (or not).
  Result<Call> run() const;
  // `exec` of the guest's other self, with this socket as its stdin and stdout.
  Result<os::Child> relay(int socket) const;
  // What to do when that has failed: {} if it is worth another run(), because what was in the way is gone (an image
  // that has been fetched, a container that a crashed keeper left). Otherwise nothing is left behind.
  Result<void> recover(const Said& said, Deadline deadline);
  Result<void> pull(Deadline deadline) const;

  // Of a persistent sandbox that was stopped. A call: it is being started. None: it has to be made anew, as the note
  // says why.
  Result<std::optional<Call>> start_again(std::string& note, Deadline deadline) const;
  // Leaves it there, with its files.
  Result<void> stop(Deadline deadline) const;
  // Idempotent. When it returns without error the engine does not know it any more.
  Result<void> remove(Deadline deadline) const;
  // Everything in it but volumes becomes an image, while nothing in it runs for the moment.
  Result<void> commit(const std::string& layer, Deadline deadline) const;
  // Of a persistent sandbox that begins with a sealed layer: what that has in /workspace and /root comes into the
  // directories that are mounted there.
  Result<void> seed(Deadline deadline) const;
  Result<void> has_image(Deadline deadline) const;
  // The process that is its first one, seen from this machine; 0: it does not run.
  Result<pid_t> first_process(Deadline deadline) const;

 private:
  std::string image() const;
  std::string image_of(const std::string& base) const;
  Result<void> fill(const std::string& layer, Deadline deadline) const;
  Result<void> with_copy(const std::string& image, Deadline deadline,
                         const std::function<Result<void>(const std::string& copy)>& work) const;
  Result<void> bring_guest() const;
  Result<bool> is_ours(Deadline deadline) const;
  Result<std::string> differs(const std::string& inspected, Deadline deadline) const;

  Program program_;
  std::string home_, name_;
  SandboxSpec spec_;
  Facts facts_;
  Way way_ = Way::direct;
  RunWords words_;
  bool fetched_ = false, cleared_ = false;
  bool strangers_ = false;  // what bears our name is not ours: it stays
};

// Layers that are no more, but are images still, by their ids.
Result<std::vector<std::string>> find_old_layers(const Program& program, const std::string& home, Deadline deadline);
Result<void> remove_layer(const Program& program, const std::string& id, Deadline deadline);

}  // namespace cove::engine
