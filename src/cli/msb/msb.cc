#include "cli/msb/msb.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/print.h"
#include "record/record.h"

namespace cove::cli::msb {
namespace {

struct Verb {
  std::string_view alias;  // or ""
  const Command& command;
};

std::span<const Verb> verbs() {
  static const Verb all[] = {{"", kRun},      {"", kCreate}, {"", kExec},     {"", kStart},   {"", kStop},
                             {"rm", kRemove}, {"ls", kList}, {"ps", kStatus}, {"", kInspect}, {"", kLogs},
                             {"", kImage},    {"", kPull},   {"", kLoad},     {"", kDoctor}};
  return all;
}

std::string overview() {
  std::string text = "msb's command line on Cove's sandboxes.\n\nUsage: msb COMMAND [OPTIONS] ...\n\n";
  for (const auto& [alias, command] : verbs()) {
    std::string line = "  " + std::string(command.name) + (alias.empty() ? "" : ", " + std::string(alias));
    line.resize(std::max<std::size_t>(line.size() + 1, 14), ' ');
    text += line + std::string(command.summary) + "\n";
  }
  return text + "\n'msb COMMAND --help' tells more.\n";
}

const Command* find(std::string_view name) {
  for (const auto& [alias, command] : verbs()) {
    if (command.name == name || (!alias.empty() && alias == name)) return &command;
  }
  return nullptr;
}

}  // namespace

void define(Arguments& arguments, Common& common) {
  arguments.flag("-q,--quiet", common.quiet, "Print errors only");
  arguments.flag("--error", common.error, "Accept for compatibility with msb; no effect");
  arguments.flag("--warn", common.warn, "Accept for compatibility with msb; no effect");
  arguments.flag("--info", common.info, "Accept for compatibility with msb; no effect");
  arguments.flag("--debug", common.debug, "Accept for compatibility with msb; no effect");
  arguments.flag("--trace", common.trace, "Accept for compatibility with msb; no effect");
}

int failed(const Error& error) {
  complain(error.message);
  return kFailed;
}

Result<record::Info> look(const std::string& name) {
  const auto opened = record::Record::open(record::name_for(name));
  if (!opened && opened.error().code == Errc::not_found) return fail(Errc::not_found, "sandbox not found: " + name);
  if (!opened) return fail(opened.error());
  return opened->info();
}

Result<Opened> open_or_start(const std::string& name) {
  COVE_TRY(const record::Info info, look(name));
  const bool stopped = info.life == record::Life::stopped;
  COVE_TRY(Sandbox sandbox, stopped ? Sandbox::restart(info.name) : Sandbox::open(info.name));
  return Opened{std::move(sandbox), stopped};
}

int finish_as_msb(const Outcome& outcome, std::chrono::milliseconds timeout, const LiveOutput& output) {
  if (outcome.ending == Ending::timeout)
    return failed({Errc::timeout, "exec timed out after " + seconds_text(timeout)});
  const int code = cli::finish(outcome, timeout, output);
  return outcome.ending == Ending::lost ? kFailed : code;
}

int run(std::vector<std::string> words) {
  speak_as("error: ");
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || (words[0] == "help" && words.size() == 1)) {
    print(overview());
    return words.empty() ? kUsageError : 0;
  }
  if (words[0] == "--version" || words[0] == "-V") {
    print("msb " + std::string(kVersion) + "\n");
    return 0;
  }
  if (words[0] == "help") words = {words[1], "--help"};
  const Command* command = find(words[0]);
  if (command == nullptr) {
    complain("unrecognized subcommand '" + words[0] + "'\n\nFor more information, try '--help'.");
    return kUsageError;
  }
  words.erase(words.begin());
  Arguments arguments(*command);
  return command->run(arguments, std::move(words));
}

}  // namespace cove::cli::msb

namespace cove::cli {

const Command kMsb{
    .name = "msb",
    .usage = "COMMAND ...",
    .summary = "Accept msb's command line; also when called as msb",
    .examples =
        "  cove msb create --name t --no-net alpine\n"
        "  ln -s $(command -v cove) ~/bin/msb   # then programs written for msb run on Cove",
    .run = [](Arguments&, std::vector<std::string> words) { return msb::run(std::move(words)); },
    .describe = [](Arguments&) {},
};

}  // namespace cove::cli
