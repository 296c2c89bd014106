#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"
#include "client/from.h"
#include "record/record.h"
#include "record/snapshots.h"

namespace cove::cli {
namespace {

using Json = nlohmann::json;

struct BisectOptions {
  std::string name;
  std::vector<std::string> test;
  bool json = false;
};

void define(Arguments& arguments, BisectOptions& options) {
  arguments.flag("--json", options.json, "Print a JSON object");
  arguments.positional("NAME", options.name, Need::required, "A sandbox with checkpoints");
  arguments.rest("TEST", options.test, Need::required);
}

// The sandbox as it was after so many of its layers, and what the test says about it there.
class Trial {
 public:
  Trial(SandboxSpec spec, std::string test) : spec_(std::move(spec)), test_(std::move(test)) {
    spec_.name.clear();
    spec_.checkpoint = false;
    spec_.persistent = false;
    spec_.owned = true;
  }

  Result<bool> fails_at(std::size_t layers) const {
    SandboxSpec spec = spec_;
    spec.layers.resize(layers);
    COVE_TRY(Sandbox sandbox, Sandbox::create(spec));
    COVE_TRY(const Completed done, sandbox.sh(test_));
    return done.outcome.exit_code != 0;
  }

 private:
  SandboxSpec spec_;
  std::string test_;
};

// Points are the states before the first command and after each one that changed files.
struct Points {
  std::vector<std::size_t> layers;
  std::vector<Json> commands;  // the one that led to the point; none for the first
};

Points points_of(const Json& history) {
  Points points;
  for (const Json& done : history.value("commands", Json::array())) {
    if (done.value("layer", "").empty()) continue;
    const std::size_t before = done.value("layers_before", std::size_t{0});
    if (points.layers.empty()) {
      points.layers.push_back(before);
      points.commands.emplace_back();
    }
    points.layers.push_back(before + 1);
    points.commands.push_back(done);
  }
  return points;
}

// Its variables are not on disk: a snapshot brings them.
Result<SandboxSpec> spec_of(Sandbox& sandbox) {
  const PassingSnapshot now;
  COVE_CHECK(sandbox.snapshot(now.tag()));
  COVE_TRY(const auto snapshot, record::find_snapshot(now.tag()));
  COVE_TRY(const auto opened, record::Record::open(sandbox.name()));
  COVE_TRY(const auto info, opened.info());
  SandboxSpec spec = info.spec;
  spec.env.clear();
  take_environment(spec, snapshot);
  return spec;
}

Result<Json> bisect(const BisectOptions& options) {
  COVE_TRY(Sandbox sandbox, Sandbox::open(options.name));
  COVE_TRY(const std::string text, sandbox.history());
  const Points points = points_of(Json::parse(text, nullptr, false));
  if (points.layers.empty())
    return fail(Errc::conflict, "no command of sandbox " + options.name +
                                    " is known to have changed files: see 'cove " + "history " + options.name + "'");
  COVE_TRY(SandboxSpec spec, spec_of(sandbox));
  const Trial trial(std::move(spec), join_words(options.test));
  std::size_t good = 0, bad = points.layers.size() - 1, tries = 1;
  COVE_TRY(const bool fails_last, trial.fails_at(points.layers[bad]));
  if (!fails_last) return fail(Errc::invalid, "the test does not fail after the last of these commands");
  // The test itself may have come with one of the commands: the first point where it holds is the beginning.
  for (bool fails = true; fails; ++tries) {
    COVE_TRY(fails, trial.fails_at(points.layers[good]));
    if (fails && ++good == bad) return fail(Errc::invalid, "the test fails after each of these commands");
  }
  for (; bad - good > 1; ++tries) {
    const std::size_t middle = good + (bad - good) / 2;
    COVE_TRY(const bool fails, trial.fails_at(points.layers[middle]));
    (fails ? bad : good) = middle;
  }
  Json found = points.commands[bad];
  found["tries"] = tries;
  return found;
}

int run(Arguments&, BisectOptions& options) {
  const auto found = bisect(options);
  if (!found) return report(found.error());
  if (options.json)
    print(json_text(*found) + "\n");
  else
    print("the test fails since command " + found->value("id", "") + ": " + found->value("command", "") + "\n");
  return 0;
}

}  // namespace

const Command kBisect{
    .name = "bisect",
    .usage = "NAME [--json] -- TEST",
    .summary = "Find the command after which a test began to fail",
    .examples =
        "  cove bisect t -- make test\n  cove diff t --command $(cove bisect t --json -- make test | jq -r .id)",
    .run = run_with<BisectOptions>,
    .describe = describe_with<BisectOptions>,
};

}  // namespace cove::cli
