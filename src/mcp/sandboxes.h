#pragma once

// The sandboxes that a client may use: those that this server has made, and those that whoever started it shares.
//
// What kind of sandbox is made (backend, network, volumes, limits) is the starter's decision; a client only chooses
// among what is harmless to the host. Sandboxes end with the server unless they are asked to be kept.

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cli/spec_options.h"
#include "client/cove.h"
#include "record/record.h"

namespace cove::mcp {

inline constexpr std::size_t kMostSandboxes = 64;

class Sandboxes {
 public:
  struct Rules {
    cli::SpecOptions spec;
    std::vector<std::string> shared;  // names of sandboxes that exist
    bool all = false;                 // every sandbox and snapshot of this user is shared
  };
  // What a client may say about a new one.
  struct Wish {
    std::string name, image, from;
    std::vector<std::string> env;  // K=V
    bool checkpoint = false, keep = false;
  };
  struct Made {
    std::string name, backend, notes;
  };

  explicit Sandboxes(Rules rules) : rules_(std::move(rules)) {}

  Result<Made> create(const Wish& wish, const Call& call);
  // not_found: there is none, or it is none of the client's business. A stopped one is started again.
  Result<std::shared_ptr<Sandbox>> find(const std::string& name, const Call& call);
  Result<std::vector<record::Info>> list() const;
  Result<std::vector<std::string>> fork(const std::string& name, std::size_t count, const Call& call);
  Result<std::string> snapshot(const std::string& name, const std::string& tag, const Call& call);
  // denied: it is not one of those made here, and not to be removed from here.
  Result<void> stop(const std::string& name, proto::StopRequest request, const Call& call);
  void end_all();  // that are to end with the server

 private:
  bool may_use(const std::string& name) const;
  Result<SandboxSpec> make_spec(const Wish& wish) const;
  Result<Sandbox> make(const SandboxSpec& spec, const Call& call) const;
  Result<void> reserve(std::size_t count);         // room for more; given back by keep()
  enum class Life : unsigned char { ours, kept };  // ours: to be ended with the server
  Life life_of(const std::string& name) const;
  void keep(std::size_t reserved, std::vector<Sandbox> made, Life life);

  const Rules rules_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Sandbox>> made_;
  std::set<std::string> kept_names_;  // made here, and not to end with the server
  std::set<std::string> tags_;        // snapshots made here
  std::size_t reserved_ = 0;
};

}  // namespace cove::mcp
