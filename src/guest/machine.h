#pragma once

// The guest of a microVM, told what only its keeper knows (proto/machine.h).

#include <functional>

#include "base/unique_fd.h"
#include "guest/identity.h"
#include "guest/loop.h"
#include "proto/frame.h"
#include "proto/machine.h"

namespace cove::guest {

class Machine {
 public:
  struct Events {
    std::function<void()> ready;                           // warm up: the memory may be saved for others
    std::function<void(const std::string& mark)> renewed;  // all is as it should be: a stream with this mark begins
  };
  Machine(Loop& loop, UniqueFd control, Events events);

 private:
  void read();
  Result<void> handle(const proto::Message& message);
  void answer(proto::MachineType type, const Result<void>& done);
  Result<void> begin_transfer(proto::MachineType type, const proto::FileRequest& request);
  void end_transfer(proto::MachineType type);

  Loop& loop_;
  UniqueFd control_;
  Events events_;
  proto::MessageReader reader_;
  Identity identity_;
  UniqueFd transfer_;  // what the process that moves files has to say
  std::string words_;
};

// How many processes this kernel has ended for want of memory.
std::uint64_t count_memory_kills();

}  // namespace cove::guest
