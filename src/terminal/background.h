#pragma once

// Commands that run on while the caller does something else. Their keeper holds them, with their whole output: what is
// here is only a table of who is where. A command of a persistent task is found again by its id after this process has
// ended and another one asks; so are all when a sandbox is shared by several processes.
//
// Answers are JSON objects; `status` is running, exited, killed, timeout (of wait: it still runs), already_exited, ok,
// lost (its sandbox is gone), not_found or error.

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>
#include <vector>

#include "client/cove.h"
#include "terminal/notices.h"
#include "terminal/redact.h"
#include "terminal/tasks.h"

namespace cove::terminal {

struct BackgroundRequest {
  std::string task;
  CommandSpec command;      // its script, cwd, pty and size, open_stdin
  std::string stdin_bytes;  // given at once; the rest by write()
  bool notify_on_complete = false;
  std::vector<std::string> watch_patterns;
};

class Background {
 public:
  using Json = nlohmann::json;

  explicit Background(Tasks& tasks) : tasks_(tasks) {}
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  struct Started {
    std::string id;  // proc_ and twelve hex digits
    std::uint32_t pid = 0;
  };
  Result<Started> start(const std::shared_ptr<Sandbox>& sandbox, BackgroundRequest request, const Call& call);

  // One object for `action`: list, poll, log, wait, kill, write, submit (write and a newline), close, watch. Others:
  //   session_id   the command, or a unique beginning of at least four characters of one started here
  //   task_id      list: only that task's
  //   offset, limit   log: bytes of the raw log; without an offset its end. `next_offset` goes on from there.
  //   timeout      wait: seconds
  //   data         write, submit
  //   patterns     watch
  Json act(const Json& request, const Call& call);

  Json notifications(Deadline deadline);  // an array; waits for the first one

 private:
  struct Entry {
    std::string task, command;
    std::shared_ptr<Sandbox> sandbox;
    std::int64_t started_unix = 0;
  };
  struct Found {
    std::string id;
    Entry entry;
  };
  struct Watcher {
    std::jthread thread;
    std::atomic<bool> done{false};
  };

  Result<Found> find(const Json& request);
  Result<Entry> search(const std::string& id);
  Json list(const Json& request);
  Json poll(const Found& found, const Call& call);
  Json log(const Found& found, const Json& request, const Call& call);
  Json wait(const Found& found, const Json& request, const Call& call);
  Json kill(const Found& found, const Call& call);
  Json write(const Found& found, const std::string& data, Sandbox::Stdin which, const Call& call);
  Json watch(const Found& found, const Json& request);
  void begin_watch(const Found& found, std::vector<std::string> patterns);
  void follow(const Found& found, std::vector<std::string> patterns, const std::stop_token& stop);
  void prune();

  Tasks& tasks_;
  Notices notices_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::list<Watcher> watchers_;
};

}  // namespace cove::terminal
