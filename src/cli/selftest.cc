#include "selftest/runner.h"

#include "base/text.h"
#include "cli/print.h"
#include "cli/signals.h"
#include "cli/spec_options.h"
#include "cli/subcommand.h"
#include "cli/tried.h"

namespace cove::cli {
namespace {

using selftest::Attempt;
using selftest::Finding;
using selftest::Tried;

struct SelftestOptions {
  std::string backend, group;
  bool json = false, list = false, sys = false;
};

void define(Arguments& arguments, SelftestOptions& options) {
  arguments.text("--backend", options.backend, "NAME", "Select the backend; 'cove doctor' lists all");
  arguments.text("--group", options.group, "GROUP", "Run only attempts whose group or name starts with GROUP");
  arguments.flag("--sys", options.sys, "Provide a read-only /sys inside");
  arguments.flag("--list", options.list, "List the attempts without running them");
  arguments.flag("--json", options.json, "Print one JSON object");
}

std::vector<Attempt> chosen(const std::string& beginning) {
  std::vector<Attempt> all = selftest::all_attempts();
  std::erase_if(all, [&](const Attempt& attempt) {
    return !attempt.group.starts_with(beginning) && !attempt.name.starts_with(beginning);
  });
  return all;
}

std::string padded(std::string_view text) {
  std::string out(text);
  out.resize(std::max<std::size_t>(out.size() + 1, 26), ' ');
  return out;
}

// Prints the group's name when it changes.
class Groups {
 public:
  void enter(std::string_view group) {
    if (group != current_) print((current_.empty() ? "" : "\n") + tinted(Tint::bold, group) + "\n");
    current_ = group;
  }

 private:
  std::string_view current_;
};

void print_tried(const Tried& tried) {
  constexpr Tint kTints[] = {Tint::green, Tint::red, Tint::yellow};
  constexpr std::string_view kWords[] = {"held  ", "BROKEN", "n/a   "};
  const auto finding = static_cast<std::size_t>(tried.verdict.finding);
  print("  " + tinted(kTints[finding], kWords[finding]) + "  " + padded(tried.attempt.name) + tried.verdict.detail +
        "\n");
}

std::size_t count(const std::vector<Tried>& all, Finding finding) {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const Tried& tried) { return tried.verdict.finding == finding; }));
}

std::string summary(const std::string& backend, const std::vector<Tried>& all) {
  const std::size_t bad = count(all, Finding::broken);
  const std::string text = backend + ": " + std::to_string(all.size()) +
                           " attempts: " + std::to_string(count(all, Finding::held)) + " held, " + std::to_string(bad) +
                           " broken, " + std::to_string(count(all, Finding::not_applicable)) + " not applicable";
  return "\n" + tinted(bad == 0 ? Tint::green : Tint::red, text) + "\n";
}

int list_attempts(const std::vector<Attempt>& attempts) {
  Groups groups;
  for (const Attempt& attempt : attempts) {
    groups.enter(attempt.group);
    print("  " + padded(attempt.name) + std::string(attempt.tries) + "\n");
  }
  return 0;
}

int run(Arguments& arguments, SelftestOptions& options) {
  const std::vector<Attempt> attempts = chosen(options.group);
  if (attempts.empty()) return arguments.usage_error("--group: nothing begins with '" + options.group + "'");
  if (options.list) return list_attempts(attempts);
  SpecOptions about;
  if (!options.backend.empty()) about.settings["backend"] = options.backend;
  about.sys = options.sys;
  const auto base = make_spec(about);
  if (!base) return report(base.error());
  const StopOnSignal stop;
  Groups groups;
  selftest::Options how{.base = *base, .attempts = attempts, .stop = stop.token()};
  if (!options.json) {
    how.each = [&](const Tried& tried) {
      groups.enter(tried.attempt.group);
      print_tried(tried);
    };
  }
  const auto all = selftest::run(how);
  if (!all) return stop.stopped() ? kInterrupted : report(all.error());
  print(options.json ? to_json(base->backend, *all) : summary(base->backend, *all));
  return count(*all, Finding::broken) == 0 ? 0 : 1;
}

}  // namespace

const Command kSelftest{
    .name = "selftest",
    .usage = "[--backend NAME] [--group GROUP] [--sys] [--list] [--json]",
    .summary = "Test the isolation of a sandbox with all known attacks",
    .examples =
        "  cove selftest\n"
        "  cove selftest --backend local      # no isolation: shows that the attempts can succeed\n"
        "  cove selftest --group kernel",
    .run = run_with<SelftestOptions>,
    .describe = describe_with<SelftestOptions>,
};

}  // namespace cove::cli
