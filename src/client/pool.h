#pragma once

#include "client/connection.h"
#include "record/record.h"

namespace cove {

// The sandbox's record, through whose directory sockets are opened, and the connections that nobody uses right now.
// A sandbox of the same name that is made later has another directory: this one never reaches it by mistake.
struct Sandbox::Pool {
  static constexpr std::size_t kIdle = 8;

  explicit Pool(record::Record opened) : record(std::move(opened)) {}

  record::Record record;
  std::mutex mutex;
  std::vector<std::unique_ptr<Connection>> idle;
};

}  // namespace cove
