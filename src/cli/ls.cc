#include <ctime>

#include "base/text.h"
#include "cli/leftovers.h"
#include "cli/print.h"
#include "cli/rows.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct LsOptions {
  bool json = false, names = false, leftovers = false;
};

void define(Arguments& arguments, LsOptions& options) {
  arguments.flag("--json", options.json, "Print a JSON array");
  arguments.flag("-q,--names", options.names, "Print names only");
  arguments.flag("--leftovers", options.leftovers, "List what crashed keepers left behind instead");
}

std::string state_text(const record::Info& info) {
  const bool runs = info.life == record::Life::running && !info.paused;
  const Tint tint = runs ? Tint::green : info.life == record::Life::failed ? Tint::red : Tint::yellow;
  std::string text = tinted(tint, record::state_of(info));
  if (info.life == record::Life::failed && !info.why.empty()) text += " (" + info.why + ")";
  return text;
}

void show_table(const std::vector<record::Info>& all) {
  std::vector<Row> rows{{tinted(Tint::bold, "NAME"), tinted(Tint::bold, "BACKEND"), tinted(Tint::bold, "AGE"),
                         tinted(Tint::bold, "KEPT"), tinted(Tint::bold, "STATE")}};
  for (const record::Info& info : all) {
    const auto age = std::chrono::seconds(std::time(nullptr) - info.created_unix);
    rows.push_back(
        {info.name, info.spec.backend, age_text(age), info.spec.persistent ? "yes" : "no", state_text(info)});
  }
  print_table(rows);
}

int run(Arguments&, LsOptions& options) {
  if (options.leftovers) {
    const auto found = find_leftovers(Deadline::after(kLeftoverTime));
    if (!found) return report(found.error());
    show_leftovers(*found, options.json);
    return 0;
  }
  const auto all = record::list();
  if (!all) return report(all.error());
  if (options.json) {
    std::vector<std::string> elements;
    for (const record::Info& info : *all) elements.push_back(to_json(info));
    print(json_array(elements));
  } else if (options.names) {
    for (const record::Info& info : *all) print(info.name + "\n");
  } else {
    show_table(*all);
  }
  return 0;
}

}  // namespace

const Command kLs{
    .name = "ls",
    .usage = "[--json] [--names] [--leftovers]",
    .summary = "List the sandboxes",
    .examples = "  cove ls\n  cove ls --json | jq -r '.[].name'",
    .run = run_with<LsOptions>,
    .describe = describe_with<LsOptions>,
};

}  // namespace cove::cli
