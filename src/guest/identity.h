#pragma once

// Who a machine is: what it must be told before anything runs in it, at its beginning and whenever it goes on from
// memory that others go on from, too.

#include "base/error.h"
#include "base/unique_fd.h"
#include "proto/machine.h"

namespace cove::guest {

class Identity {
 public:
  // Makes the files that the first renew() writes to, before the memory is saved for others: what is done here is not
  // done by each of them, and less of the kernel is needed by a machine that has just begun to run.
  void prepare();
  // Time, randomness, names. What cannot be set is an error: a machine that shares its random numbers is no sandbox.
  Result<void> renew(const proto::Renew& renew);

 private:
  Result<void> write_names(const proto::Renew& renew);

  UniqueFd hostname_, machine_id_, boot_id_;  // until they are written once: then they belong to whoever is inside
};

}  // namespace cove::guest
