#pragma once

// The stdin of background commands that were started with one: a pipe that stays open here until it is closed or the
// command ends. Behind each is a thread that follows its command.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "client/cove.h"

namespace cove::mcp {

inline constexpr std::size_t kMostInputs = 64;

class Inputs {
 public:
  // Starts the command; its id. It is not ended with this process.
  Result<std::string> start(std::shared_ptr<Sandbox> sandbox, CommandSpec command, const std::stop_token& stop);

  enum class Last : unsigned char { no, yes };  // yes: end of file after these bytes
  // conflict: it has no stdin, has ended, or its stdin is closed. busy: it does not read.
  Result<void> write(const std::string& sandbox, const std::string& id, std::string_view bytes, Last last);

  // Waits a little until no command is followed any more.
  void drain(Deadline deadline);

 private:
  using Key = std::pair<std::string, std::string>;  // sandbox, command
  // Who writes or closes holds the mutex: a number that was closed may be another file's a moment later.
  struct Input {
    std::mutex mutex;
    UniqueFd fd;
  };
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<Key, std::shared_ptr<Input>> open;
    std::size_t threads = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();  // outlives this object in threads that still wait
};

}  // namespace cove::mcp
