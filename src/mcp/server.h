#pragma once

// The server apart from how messages travel: what is asked, which requests are under way, what is no longer wanted.
//
// Calls of tools run in threads of their own, at most kMostCalls at once; everything else is answered on the spot.

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "mcp/tool.h"

namespace cove::mcp {

inline constexpr std::size_t kMostCalls = 64;

// Where the messages that a request leads to are sent. Used by one thread at a time.
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void notify(std::string message) = 0;
  // The last word, said once. nullopt: the request was cancelled, and nobody waits for an answer.
  virtual void finish(std::optional<std::string> message) = 0;
};

// Whose request ids are one space: the process behind a pipe, a session, or one request that belongs to nothing.
class Client {
 public:
  // False: a request with this id is under way.
  bool begin(const Json& id, std::stop_source stop);
  void end(const Json& id);
  void cancel(const Json& id);  // an id that is not under way: nothing
  void cancel_all();
  bool idle() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::stop_source> under_way_;
};

class Server {
 public:
  struct About {
    std::string version;
    std::string instructions;  // for the model
  };
  Server(std::vector<Tool> tools, About about);
  ~Server();  // as stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Serves one message. `reply` hears of requests only, and is kept until it has been finished.
  void take(Message message, const std::shared_ptr<Client>& client, const std::shared_ptr<Reply>& reply);
  // Waits until no call is under way.
  bool drain(Deadline deadline);
  // Cancels every call and waits for its end. New ones are refused.
  void stop();

 private:
  std::variant<Json, Refusal> answer(const Message& request) const;
  std::variant<Json, Refusal> list_tools(const Message& request) const;
  Json initialize(const Message& request) const;
  Json discover() const;
  Json server_info() const;
  void start_call(Message request, const std::shared_ptr<Client>& client, const std::shared_ptr<Reply>& reply);
  const Tool* find_tool(const Message& request) const;

  struct Running {
    std::stop_source stop;
  };
  std::variant<std::list<Running>::iterator, Refusal> admit(const Message& request, Client& client,
                                                            const std::stop_source& stop);
  // The last word; nullopt: nobody wants it.
  std::optional<std::string> run_call(const Message& request, const Tool& tool, const std::stop_token& stop,
                                      Reply& reply) const;
  void finished(std::list<Running>::iterator running);

  const std::vector<Tool> tools_;
  const About about_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::list<Running> running_;
  bool stopped_ = false;
};

}  // namespace cove::mcp
