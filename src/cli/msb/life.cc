// start, stop, remove

#include "cli/arguments.h"
#include "cli/msb/msb.h"
#include "cli/print.h"
#include "record/record.h"

namespace cove::cli::msb {
namespace {

struct LifeOptions {
  Common common;
  std::vector<std::string> names;
  bool force = false;
  std::chrono::milliseconds grace{2000};
};

void define_names(Arguments& arguments, LifeOptions& options) {
  define(arguments, options.common);
  arguments.positionals("NAME", options.names, "The sandboxes");
}
void define_start(Arguments& arguments, LifeOptions& options) { define_names(arguments, options); }
void define_stop(Arguments& arguments, LifeOptions& options) {
  arguments.flag("-f,--force", options.force, "Kill commands immediately");
  arguments.duration("-t,--timeout", options.grace, "Wait this long before killing commands (2s)");
  define_names(arguments, options);
}
void define_remove(Arguments& arguments, LifeOptions& options) {
  arguments.flag("-f,--force", options.force, "Remove running sandboxes, too");
  define_names(arguments, options);
}

Result<void> start(const std::string& name, const LifeOptions&) {
  COVE_TRY(const auto opened, open_or_start(name));
  (void)opened;
  return {};
}

Result<void> stop(const std::string& name, const LifeOptions& options) {
  COVE_TRY(const record::Info info, look(name));
  if (info.life != record::Life::running) return {};
  COVE_TRY(Sandbox sandbox, Sandbox::open(info.name));
  const auto grace = options.force ? std::chrono::milliseconds(0) : options.grace;
  return sandbox.stop({.remove = false, .grace_ms = static_cast<std::uint32_t>(grace.count())});
}

Result<void> remove(const std::string& name, const LifeOptions& options) {
  COVE_TRY(const record::Info info, look(name));
  if (info.life == record::Life::running && !options.force)
    return fail(Errc::busy, "sandbox is running: " + name + "\n  → stop it first, or remove it with --force");
  return Sandbox::remove(info.name);
}

// Each name by itself: one that fails does not keep the others from it.
template <auto Define, auto Act>
int for_each_name(Arguments& arguments, std::vector<std::string> words) {
  LifeOptions options;
  Define(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  int code = 0;
  for (const std::string& name : options.names) {
    const auto done = Act(name, options);
    if (done) continue;
    code = kFailed;
    // As msb: a quiet start or removal does not even say why not; a quiet stop does.
    if (Act == stop || !options.common.quiet) failed(done.error());
  }
  return code;
}

template <auto Define>
void describe_life(Arguments& arguments) {
  static LifeOptions options;
  Define(arguments, options);
}

}  // namespace

const Command kStart{
    .name = "start",
    .usage = "[OPTIONS] NAME...",
    .summary = "Start sandboxes that were stopped",
    .examples = "  msb start t",
    .run = for_each_name<define_start, start>,
    .describe = describe_life<define_start>,
    .program = "msb",
};

const Command kStop{
    .name = "stop",
    .usage = "[OPTIONS] NAME...",
    .summary = "Stop sandboxes; their files stay",
    .examples = "  msb stop t\n  msb stop --force $(msb ls -q)",
    .run = for_each_name<define_stop, stop>,
    .describe = describe_life<define_stop>,
    .program = "msb",
};

const Command kRemove{
    .name = "remove",
    .usage = "[OPTIONS] NAME...",
    .summary = "Remove sandboxes and everything in them",
    .examples = "  msb remove t\n  msb rm --force t u",
    .run = for_each_name<define_remove, remove>,
    .describe = describe_life<define_remove>,
    .program = "msb",
};

}  // namespace cove::cli::msb
