#include <ctime>

#include "base/text.h"
#include "cli/companion.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "client/cove.h"
#include "record/snapshots.h"

namespace cove::cli {
namespace {

struct SnapshotOptions {
  std::vector<std::string> words;
  bool memory = false, json = false;
};

void define(Arguments& arguments, SnapshotOptions& options) {
  arguments.flag("--memory", options.memory, "Include running programs; they resume where the snapshot is used");
  arguments.flag("--json", options.json, "Print a JSON object");
  arguments.positionals("NAME [TAG]", options.words, "The sandbox and a tag for the snapshot; or 'rm' and tags");
}

int remove(const std::vector<std::string>& tags) {
  int code = 0;
  std::vector<std::string> given_up;
  for (const std::string& tag : tags) {
    if (const auto snapshot = record::find_snapshot(tag))
      given_up.insert(given_up.end(), snapshot->layers.begin(), snapshot->layers.end());
    if (const auto removed = record::remove_snapshot(tag); !removed) code = report(removed.error());
  }
  if (const auto cleared = record::clear_layers(given_up); !cleared) code = report(cleared.error());
  return code;
}

// "t-20260131-235959".
std::string made_up(const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "-%Y%m%d-%H%M%S", &parts);
  return name.substr(0, 40) + text;
}

int run(Arguments& arguments, SnapshotOptions& options) {
  if (options.words.size() > 1 && options.words[0] == "rm")
    return remove({options.words.begin() + 1, options.words.end()});
  if (options.words.empty() || options.words.size() > 2)
    return arguments.usage_error("give the sandbox's name and perhaps a tag, or 'rm' and tags");
  const std::string tag = options.words.size() == 2 ? options.words[1] : made_up(options.words[0]);
  if (tag.starts_with('.')) return arguments.usage_error("a tag begins with a letter or digit");
  auto sandbox = Sandbox::open(options.words[0]);
  if (!sandbox) return report(sandbox.error());
  const auto made = sandbox->snapshot(tag, {}, options.memory ? Saved::memory : Saved::files);
  if (!made) return report(made.error());
  print(options.json ? *made + "\n" : tag + "\n");
  return 0;
}

int run_here_or_in_companion(Arguments& arguments, std::vector<std::string> words) {
  if (words.empty() || (words[0] != "export" && words[0] != "import"))
    return run_with<SnapshotOptions>(arguments, std::move(words));
  words[0].insert(0, "snapshot-");
  return become_image_program(std::move(words));
}

}  // namespace

const Command kSnapshot{
    .name = "snapshot",
    .usage = "NAME [TAG] [--memory] | rm TAG... | export TAG FILE | import FILE TAG",
    .summary = "Save a sandbox's files and sessions and print the tag; export and import snapshots",
    .examples =
        "  cove snapshot t before\n  cove create --from before u\n  cove snapshot rm before\n"
        "  cove snapshot t running --memory\n"
        "  cove snapshot export before before.tar && docker load -i before.tar\n"
        "  ssh there cove snapshot export work - | cove snapshot import - work",
    .run = run_here_or_in_companion,
    .describe = describe_with<SnapshotOptions>,
};

}  // namespace cove::cli
