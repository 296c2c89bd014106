#pragma once

// What can be undone: commands that have ended, each with what there was before it. Of a persistent sandbox it is kept
// in its directory, in the file `history`: an entry is appended with one write and a check sum, so that of one that a
// crash or a full disk cut short nothing is believed.
//
// The sandbox's layers are written down elsewhere and first (Record::add_layer). An entry that does not fit them, after
// a crash in between, is dropped with all that came later; a layer that no entry names goes with the command before it.

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "proto/client.h"
#include "record/snapshots.h"

namespace cove::record {

struct Done {
  proto::Outcome outcome;
  std::string text, layer;                          // "": it changed nothing
  std::uint64_t layers_before = 0;                  // how many there were
  std::shared_ptr<const Sessions> sessions_before;  // shared by those that are the same; never null
};

class History {
 public:
  History() = default;  // in memory only
  // What is in `directory`, as far as it fits a sandbox that stands on `layers`.
  static Result<History> open(int directory, const std::vector<std::string>& layers);

  const std::vector<Done>& all() const { return all_; }  // oldest first
  // On error it is kept in memory, and so is all that follows until the next cut().
  Result<void> add(Done done);
  Result<void> cut(std::size_t left);  // what is not among the first `left` is forgotten

 private:
  Result<void> append(const std::string& bytes);
  Result<void> write_all_again();

  UniqueFd directory_, file_;
  std::vector<Done> all_;
  std::vector<std::uint64_t> ends_;  // of each entry in the file; may be fewer
};

}  // namespace cove::record
