#include "cli/leftovers.h"

#include "backend/table.h"
#include "base/text.h"
#include "cli/print.h"
#include "cli/rows.h"
#include "record/record.h"

namespace cove::cli {
namespace {

bool is_alive(const std::string& name) {
  const auto record = record::Record::open(name);
  const auto info = record ? record->info() : Result<record::Info>(fail(record.error()));
  return info && info->life == record::Life::running;
}

}  // namespace

Result<std::vector<Leftover>> find_leftovers(Deadline deadline) {
  std::vector<Leftover> all;
  COVE_TRY(const auto dead, record::dead());
  for (const std::string& name : dead) all.push_back({"directory", name});
  COVE_TRY(const std::string home, record::home());
  for (Backend* backend : all_backends()) {
    COVE_TRY(const auto theirs, backend->leftovers(home, is_alive, deadline));
    all.insert(all.end(), theirs.begin(), theirs.end());
  }
  return all;
}

Result<void> clear_leftover(const Leftover& leftover, Deadline deadline) {
  if (leftover.kind == "directory") return record::clear_dead(leftover.name);
  COVE_TRY(const std::string home, record::home());
  for (Backend* backend : all_backends()) COVE_CHECK(backend->clear(home, leftover, deadline));
  return {};
}

void show_leftovers(const std::vector<Leftover>& leftovers, bool json) {
  std::vector<std::string> elements;
  for (const Leftover& leftover : leftovers) {
    elements.push_back("{\"kind\": " + json_quote(leftover.kind) + ", \"name\": " + json_quote(leftover.name) + "}");
    if (!json) print(leftover.kind + " " + leftover.name + "\n");
  }
  if (json) print(json_array(elements));
}

}  // namespace cove::cli
