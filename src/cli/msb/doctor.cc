#include "backend/table.h"
#include "cli/arguments.h"
#include "cli/msb/options.h"
#include "cli/print.h"
#include "cli/text.h"
#include "record/record.h"

namespace cove::cli::msb {
namespace {

void describe(Arguments& arguments) {
  static Common common;
  define(arguments, common);
}

// Only the backend that would be used decides.
int main(Arguments& arguments, std::vector<std::string> words) {
  Common common;
  define(arguments, common);
  if (auto code = arguments.parse(std::move(words))) return *code;
  const auto name = chosen_backend();
  if (!name) return failed(name.error());
  const auto home = record::home();
  if (!home) return failed(home.error());
  const Probe probe = (*find_backend(*name))->probe(Deadline::after(std::chrono::seconds(10)));
  print("info Version: v" + std::string(kVersion) + " (Cove)\ninfo COVE_HOME: " + *home + "\ninfo Backend: " + *name +
        (probe.usable ? ", usable\n" : ", not usable\n"));
  return probe.usable ? 0 : failed({Errc::unsupported, probe.why_not});
}

}  // namespace

const Command kDoctor{
    .name = "doctor",
    .usage = "",
    .summary = "Whether sandboxes can be made here",
    .examples = "  msb doctor\n  cove doctor   # tells about every backend",
    .run = main,
    .describe = describe,
    .program = "msb",
};

}  // namespace cove::cli::msb
