#include "mcp/http_sessions.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdio>

namespace cove::mcp {
namespace {

std::string random_id() {
  unsigned char bytes[16];
  std::size_t have = 0;
  while (have < sizeof(bytes)) {
    const ssize_t n = getrandom(bytes + have, sizeof(bytes) - have, 0);
    if (n > 0) have += static_cast<std::size_t>(n);
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", byte);
    text += two;
  }
  return text;
}

}  // namespace

std::string HttpSessions::make() {
  Session made{.id = random_id(), .client = std::make_shared<Client>()};
  const std::lock_guard guard(mutex_);
  if (sessions_.size() >= most_) make_room();
  sessions_.push_front(made);
  return made.id;
}

void HttpSessions::make_room() {
  const auto idle =
      std::find_if(sessions_.rbegin(), sessions_.rend(), [](const Session& one) { return one.client->idle(); });
  if (idle != sessions_.rend())
    sessions_.erase(std::next(idle).base());
  else
    sessions_.pop_back();
}

std::shared_ptr<Client> HttpSessions::find(const std::string& id) {
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(sessions_.begin(), sessions_.end(), [&](const Session& one) { return one.id == id; });
  if (found == sessions_.end()) return nullptr;
  sessions_.splice(sessions_.begin(), sessions_, found);
  return found->client;
}

bool HttpSessions::end(const std::string& id) {
  const auto client = find(id);
  if (client == nullptr) return false;
  client->cancel_all();
  const std::lock_guard guard(mutex_);
  return sessions_.remove_if([&](const Session& one) { return one.id == id; }) > 0;
}

}  // namespace cove::mcp
