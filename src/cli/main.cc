#include <csignal>
#include <cstring>
#include <exception>

#include "cli/arguments.h"
#include "cli/man_overview.h"
#include "cli/print.h"
#include "keeper/keeper_main.h"
#include "proto/launch.h"

namespace cove::cli {
namespace {

std::string overview() {
  std::string text = "Cove: a terminal for agents; safe, stateful, instant.\n\nUsage: cove COMMAND [OPTIONS] ...\n\n";
  for (const Command& command : commands()) {
    if (command.visible == Visible::no) continue;
    std::string line = "  " + std::string(command.name);
    line.resize(std::max<std::size_t>(line.size() + 1, 14), ' ');
    text += line + std::string(command.summary) + "\n";
  }
  return text + "\n'cove COMMAND --help' tells more.\n\nExamples:\n" + std::string(kCove.examples) + "\n";
}

// Called under the name `msb` it is `cove msb`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string_view self = argc > 0 ? argv[0] : "";
  if (self.substr(self.rfind('/') + 1) == "msb") words.insert(words.begin(), "msb");
  return words;
}

int dispatch(std::vector<std::string> words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || (words[0] == "help" && words.size() == 1)) {
    print(overview());
    return words.empty() ? kUsageError : 0;
  }
  if (words[0] == "--version" || words[0] == "-V") words[0] = "version";
  if (words[0] == "help") words = {words[1], "--help"};
  const Command* command = find_command(words[0]);
  if (command == nullptr) {
    complain("there is no command '" + words[0] + "'\nTry 'cove --help'.");
    return kUsageError;
  }
  words.erase(words.begin());
  Arguments arguments(*command);
  return command->run(arguments, std::move(words));
}

}  // namespace
}  // namespace cove::cli

int main(int argc, char** argv) {
  // A reader that goes away is seen where it is written to, and answered there.
  std::signal(SIGPIPE, SIG_IGN);
  // Every new sandbox waits for this one, and it has no options.
  if (argc == 2 && std::strcmp(argv[1], "keeper") == 0) return cove::keeper::keeper_main();
  if (argc == 3 && std::strcmp(argv[1], "keeper") == 0 && std::strcmp(argv[2], cove::proto::kNursery) == 0)
    return cove::keeper::nursery_main(argv[2]);
  try {
    return cove::cli::dispatch(cove::cli::words_of(argc, argv));
  } catch (const std::exception& error) {
    cove::cli::complain(std::string("internal error: ") + error.what());
    return cove::cli::kOwnError;
  }
}
