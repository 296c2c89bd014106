#pragma once

// The guest's socket in a directory that the container can write to. Who is behind it is not believed anything, and
// nothing that lies there is followed.

#include <sys/types.h>

#include <string>

#include "base/deadline.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace cove::engine {

class Door {
 public:
  Door() = default;
  // Makes the directory, empty, for whoever runs inside.
  static Result<Door> make(const std::string& directory);

  // A descriptor that is readable when something may have changed there.
  int watch_fd() const { return watch_.get(); }
  void drain() const;
  // nullopt-like: an empty descriptor while nobody listens.
  Result<UniqueFd> try_connect() const;

 private:
  UniqueFd directory_, watch_;
};

// The process that listens at the other end, seen from here; 0: not of this kernel.
pid_t listener_of(int socket);

}  // namespace cove::engine
