#pragma once

// The forms of spec.json, status.json and the journal's lines.

#include <string>
#include <string_view>

#include "base/error.h"
#include "record/record.h"

namespace cove::record {

struct StoredSpec {
  SandboxSpec spec;
  std::int64_t created_unix = 0;
  unsigned writing = 0;  // counts how often it was written; names the list of layers that were added since
};

std::string spec_to_json(const StoredSpec& stored);
Result<StoredSpec> spec_from_json(std::string_view text);
// spec.json of a record's directory, with the layers that were added since.
Result<StoredSpec> read_spec(int directory);

struct StoredStatus {
  Life life = Life::failed;
  std::string why;
};
std::string status_to_json(Life life, const std::string& why);
StoredStatus status_from_json(std::string_view text);  // what cannot be read is `failed` and says so

// Journal lines, with their newline.
std::string started_line(const std::string& id);
std::string ended_line(const proto::Outcome& outcome);
// The whole journal; torn or foreign lines are skipped.
std::vector<proto::Outcome> parse_journal(std::string_view text);

std::string_view name(proto::Ending ending);     // "exited", "timeout", ... as in the CLI's JSON
proto::Ending ending_of(std::string_view name);  // lost, if it is none

}  // namespace cove::record
