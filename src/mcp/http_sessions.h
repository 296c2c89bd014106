#pragma once

#include <list>

#include "mcp/server.h"

namespace cove::mcp {

// Sessions of legacy clients, by ids that cannot be guessed. When there are too many the one that has been idle longest
// goes.
class HttpSessions {
 public:
  explicit HttpSessions(std::size_t most) : most_(most) {}
  std::string make();
  std::shared_ptr<Client> find(const std::string& id);  // nullptr: there is none
  bool end(const std::string& id);                      // cancels what it has under way

 private:
  struct Session {
    std::string id;
    std::shared_ptr<Client> client;
  };
  void make_room();

  const std::size_t most_;
  std::mutex mutex_;
  std::list<Session> sessions_;  // the last used first
};

}  // namespace cove::mcp
