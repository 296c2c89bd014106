#include <ctime>
#include "base/text.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"

#include "cli/rows.h"
#include "record/snapshots.h"

namespace cove::cli {
namespace {

struct SnapshotsOptions {
  bool json = false;
};

void define(Arguments& arguments, SnapshotsOptions& options) {
  arguments.flag("--json", options.json, "Print a JSON array");
}

std::string snapshot_json(const record::Snapshot& one) {
  return "{\"tag\": " + json_quote(one.tag) + ", \"sandbox\": " + json_quote(one.sandbox) +
         ", \"backend\": " + json_quote(one.backend) +
         ", \"image\": " + json_quote(one.image.empty() ? "host" : one.image) +
         ", \"layers\": " + std::to_string(one.layers.size()) +
         ", \"memory\": " + (one.memory.empty() ? "false" : "true") +
         ", \"created\": " + std::to_string(one.created_unix) + "}";
}

int run(Arguments&, SnapshotsOptions& options) {
  const auto all = record::list_snapshots();
  if (!all) return report(all.error());
  if (options.json) {
    std::vector<std::string> elements;
    for (const record::Snapshot& one : *all) elements.push_back(snapshot_json(one));
    print(json_array(elements));
    return 0;
  }
  std::vector<Row> rows{{tinted(Tint::bold, "TAG"), tinted(Tint::bold, "OF"), tinted(Tint::bold, "IMAGE"),
                         tinted(Tint::bold, "LAYERS"), tinted(Tint::bold, "MEMORY"), tinted(Tint::bold, "AGE")}};
  for (const record::Snapshot& one : *all) {
    rows.push_back({one.tag, one.sandbox, one.image.empty() ? "host" : one.image, std::to_string(one.layers.size()),
                    one.memory.empty() ? "-" : "yes",
                    age_text(std::chrono::seconds(std::time(nullptr) - one.created_unix))});
  }
  print_table(rows);
  return 0;
}

}  // namespace

const Command kSnapshots{
    .name = "snapshots",
    .usage = "[--json]",
    .summary = "List the snapshots",
    .examples = "  cove snapshots\n  cove snapshots --json | jq -r '.[].tag'",
    .run = run_with<SnapshotsOptions>,
    .describe = describe_with<SnapshotsOptions>,
};

}  // namespace cove::cli
