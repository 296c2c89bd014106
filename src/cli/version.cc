#include "cli/arguments.h"
#include "cli/print.h"

namespace cove::cli {
namespace {

int print_version(Arguments& arguments, std::vector<std::string> words) {
  if (auto code = arguments.parse(std::move(words))) return *code;
  print("cove " COVE_VERSION "\n");
  return 0;
}

}  // namespace

const Command kVersion{
    .name = "version",
    .usage = "",
    .summary = "Print the version",
    .examples = "",
    .run = print_version,
    .describe = [](Arguments&) {},
};

}  // namespace cove::cli
