#pragma once

#include <string>
#include <vector>

#include "proto/client.h"
#include "proto/guest.h"
#include "record/record.h"

namespace cove::keeper {

// One command, and all of them: the fields of the CLI's --json, plus "state": running or ended. No output.
std::string to_json(const proto::Outcome& outcome);
std::string to_json(const std::vector<proto::Outcome>& outcomes);

struct Inspection {
  record::Info info;
  proto::GuestHello guest;
  std::vector<std::string> sessions;
  std::size_t commands_running = 0, commands_unfinished = 0;
  std::uint64_t idle_ms = 0;
  std::string proof;  // JSON, or ""
  std::vector<std::string> notes;
};
// Of variables only the names.
std::string to_json(const Inspection& inspection);

}  // namespace cove::keeper
