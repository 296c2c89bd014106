#pragma once

#include <string>
#include <vector>

#include "timing.h"

namespace cove::bench {

// A container engine, docker or podman, started for the occasion with a storage of its own and an image of this
// machine's files; gone with the object.
class Engine {
 public:
  explicit Engine(std::string kind);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  const std::string& kind() const { return kind_; }
  const std::string& why_not() const { return why_not_; }  // "" if it runs
  SandboxSpec spec() const;                                // of a sandbox in it
  // What people type: a container that stays, a command in it, and a container for one command.
  std::vector<std::string> run(const std::string& name) const;
  std::vector<std::string> exec(const std::string& name) const { return {kind_, "exec", name, "bash", "-c", "true"}; }
  std::vector<std::string> run_once() const;
  void remove(const std::string& name) const;

 private:
  std::vector<std::string> run_words() const;
  std::string kind_, folder_, why_not_;
};

}  // namespace cove::bench
