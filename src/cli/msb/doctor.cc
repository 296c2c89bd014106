#include "backend/table.h"
#include "base/text.h"
#include "cli/msb/options.h"
#include "cli/print.h"
#include "cli/subcommand.h"
#include "record/record.h"

namespace cove::cli::msb {
namespace {

struct DoctorOptions : Common {};

// Only the backend that would be used decides.
int run(Arguments&, DoctorOptions&) {
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
    .summary = "Check whether sandboxes can be created here",
    .examples = "  msb doctor\n  cove doctor   # tells about every backend",
    .run = run_with<DoctorOptions>,
    .describe = describe_with<DoctorOptions>,
    .program = "msb",
};

}  // namespace cove::cli::msb
