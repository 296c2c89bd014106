#include "base/text.h"
#include "cli/live.h"
#include "cli/msb/msb.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "record/record.h"

namespace cove::cli::msb {
namespace {

struct LogsOptions {
  Common common;
  std::string name;
  std::size_t tail = 0;  // 0: all
  bool follow = false;
};

void define(Arguments& arguments, LogsOptions& options) {
  define(arguments, options.common);
  arguments.flag("-f,--follow", options.follow, "Follow until the last command ends");
  arguments.value("--tail", "N", "Print only the last N lines", [&options](const std::string& text) -> Result<void> {
    COVE_TRY(options.tail, parse_count(text));
    return {};
  });
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

std::string last_lines(const std::string& text, std::size_t count) {
  std::size_t begin = text.ends_with('\n') ? text.size() - 1 : text.size();
  for (std::size_t lines = 0; begin > 0 && lines < count; --begin) {
    if (text[begin - 1] == '\n' && ++lines == count) break;
  }
  return text.substr(begin);
}

// The output of every command it knows, one after the other.
Result<void> show(Sandbox& sandbox, const LogsOptions& options) {
  COVE_TRY(const auto commands, sandbox.commands());
  Kept kept;
  LiveOutput live(nullptr);
  CommandIo io;
  io.output = [&](Stream stream, std::string_view bytes) {
    if (options.tail > 0 && !options.follow)
      kept.add(bytes);
    else
      live.write(stream, bytes);
  };
  for (std::size_t i = 0; i < commands.size() && !live.broken(); ++i) {
    const bool last = i + 1 == commands.size();
    COVE_CHECK(sandbox.attach({.id = commands[i].id, .follow = last && options.follow}, io));
  }
  if (options.tail > 0) print(last_lines(kept.bytes, options.tail));
  return {};
}

int run(Arguments&, LogsOptions& options) {
  const auto info = look(options.name);
  if (!info) return failed(info.error());
  auto sandbox = Sandbox::open(info->name);
  if (!sandbox) return failed(sandbox.error());
  const auto shown = show(*sandbox, options);
  return shown ? 0 : failed(shown.error());
}

}  // namespace

const Command kLogs{
    .name = "logs",
    .usage = "NAME [--follow] [--tail N]",
    .summary = "Print the output of a sandbox's commands; kept while it runs",
    .examples = "  msb logs t\n  msb logs -f t",
    .run = run_with<LogsOptions>,
    .describe = describe_with<LogsOptions>,
    .program = "msb",
};

}  // namespace cove::cli::msb
