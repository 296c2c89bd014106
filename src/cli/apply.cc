#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backend/native/layers.h"
#include "backend/native/volumes.h"
#include "backend/traits.h"
#include "base/json_text.h"
#include "changes/apply.h"
#include "changes/merge.h"
#include "changes/text.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "os/remove_tree.h"
#include "record/files.h"
#include "record/record.h"
#include "record/snapshots.h"

namespace cove::cli {
namespace {

using Json = nlohmann::json;

struct ApplyOptions {
  std::string name, to;
  std::vector<std::string> only;
  bool dry_run = false, partial = false, links = false, json = false;
};

void define(Arguments& arguments, ApplyOptions& options) {
  arguments.text("--to", options.to, "DIR",
                 "Select the host directory of DIR:INSIDE:cow; required if there are several");
  arguments.texts("--only", options.only, "GLOB", "Select files by pattern (as in .gitignore)");
  arguments.flag("--dry-run", options.dry_run, "Show what would be done, without doing it");
  arguments.flag("--partial", options.partial, "Apply changes without conflict; by default one conflict stops all");
  arguments.flag("--links", options.links, "Also apply symlinks that point outside DIR");
  arguments.flag("--json", options.json, "Print a JSON object");
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

// The copy of DIR, as its layers: the topmost first, without DIR itself.
struct Copy {
  std::string source;
  std::vector<std::string> trees;
};

Result<Copy> find_copy(const SandboxSpec& spec, const std::string& to) {
  COVE_TRY(const auto layers, native::find_layers(spec, os::find_users(), native::Blocks::single));
  std::vector<Copy> copies;
  for (const native::Layer& layer : layers) {
    if (layer.volume < 0) continue;
    Copy copy{.source = layer.lowers.back(), .trees = {layer.upper}};
    copy.trees.insert(copy.trees.end(), layer.lowers.begin(), layer.lowers.end() - 1);
    if (to.empty() || copy.source == to) copies.push_back(std::move(copy));
  }
  if (copies.size() == 1) return std::move(copies[0]);
  if (copies.empty())
    return fail(Errc::invalid, "sandbox " + spec.name + " has no copy of " + (to.empty() ? "a directory" : to) +
                                   ": it was not created with --volume DIR:INSIDE:cow");
  return fail(Errc::invalid, "sandbox " + spec.name + " has copies of several directories: say which with --to");
}

// Several layers are applied as one.
class OneTree {
 public:
  static Result<OneTree> of(const Copy& copy, const std::string& home) {
    OneTree tree;
    tree.path_ = copy.trees.front();
    if (copy.trees.size() == 1) return tree;
    tree.path_ = tree.made_ = home + "/layers/apply-" + record::new_layer_id();
    COVE_CHECK(changes::merge_layers(copy.trees, tree.path_));
    return tree;
  }
  OneTree(OneTree&& other) noexcept : path_(std::move(other.path_)), made_(std::exchange(other.made_, std::string())) {}
  OneTree& operator=(OneTree&&) = delete;
  ~OneTree() {
    if (!made_.empty()) [[maybe_unused]]
      const auto removed = os::remove_tree(made_);
  }
  const std::string& path() const { return path_; }

 private:
  OneTree() = default;
  std::string path_, made_;
};

constexpr const char* kApplied = "applied.json";

Result<changes::Applied> apply(const ApplyOptions& options) {
  COVE_TRY(const auto opened, record::Record::open(options.name));
  COVE_TRY(const auto info, opened.info());
  if (!traits_of(info.spec.backend).has_layers)
    return fail(Errc::unsupported, "backend " + info.spec.backend + " shows no directories as copies");
  COVE_TRY(const std::string home, record::home());
  SandboxSpec spec = info.spec;
  spec.directory = home + "/sandboxes/" + info.name;
  COVE_TRY(const Copy copy, find_copy(spec, native::without_final_slash(options.to)));
  COVE_TRY(const OneTree tree, OneTree::of(copy, home));
  changes::ApplyOptions how;
  how.only = options.only;
  how.dry_run = options.dry_run;
  how.partial = options.partial;
  how.links = options.links;
  how.base = {.tv_sec = spec.copies_began_ns / 1'000'000'000, .tv_nsec = spec.copies_began_ns % 1'000'000'000};
  struct stat host{};
  if (stat(copy.source.c_str(), &host) < 0) return fail(errno_error(errno, "look at " + copy.source));
  if (geteuid() == 0) how.owner = changes::Owner{host.st_uid, host.st_gid};
  if (const auto before = record::read_file_at(opened.directory(), kApplied)) {
    COVE_TRY(how.already, changes::written_from_json(*before));
  }
  COVE_TRY(auto applied, changes::apply(tree.path(), copy.source, how));
  // Also if there was nothing to write: an apply that was killed before it got here may have written it all.
  if (!options.dry_run) COVE_CHECK(record::write_file_at(opened.directory(), kApplied, to_json(applied.written)));
  return applied;
}

Json objections_json(const std::vector<changes::Objection>& objections) {
  Json all = Json::array();
  for (const auto& one : objections) all.push_back(Json{{"path", one.path}, {"reason", one.reason}});
  return all;
}

void show_json(const changes::Applied& applied) {
  Json changed = Json::array();
  for (const auto& one : applied.changes)
    changed.push_back(Json{{"path", one.path}, {"change", std::string(name(one.what))}});
  print(json_text({{"applied", applied.wrote},
                   {"changes", changed},
                   {"conflicts", objections_json(applied.conflicts)},
                   {"refused", objections_json(applied.refused)}}) +
        "\n");
}

void show(const changes::Applied& applied) {
  constexpr const char* kLetters[] = {"A ", "M ", "D "};
  for (const auto& one : applied.changes)
    print(kLetters[static_cast<int>(one.what)] + changes::quote_path(one.path) + (one.directory ? "/\n" : "\n"));
  for (const auto& one : applied.refused) complain("not brought: " + changes::quote_path(one.path) + ": " + one.reason);
  for (const auto& one : applied.conflicts) complain("conflict: " + changes::quote_path(one.path) + ": " + one.reason);
  if (!applied.conflicts.empty() && !applied.wrote)
    complain("nothing was written; --partial brings what has no conflict");
}

int run(Arguments&, ApplyOptions& options) {
  const auto applied = apply(options);
  if (!applied) return report(applied.error());
  if (options.json)
    show_json(*applied);
  else
    show(*applied);
  return applied->conflicts.empty() ? 0 : 1;
}

}  // namespace

const Command kApply{
    .name = "apply",
    .usage = "NAME [--to DIR] [--only GLOB] [--dry-run] [--partial]",
    .summary = "Apply changes in a copied directory (:cow) to the host; exits with 1 if there are conflicts",
    .examples =
        "  cove create --volume $PWD:/workspace:cow t\n"
        "  cove sh t 'make format'\n"
        "  cove diff t /workspace\n"
        "  cove apply t --only '*.py'",
    .run = run_with<ApplyOptions>,
    .describe = describe_with<ApplyOptions>,
};

}  // namespace cove::cli
