#include "cli/arguments.h"
#include "cli/print.h"

namespace cove::cli {
namespace {
int main(Arguments&, std::vector<std::string>) { return kOwnError; }
void describe(Arguments&) {}
}  // namespace
const Command kApply{.name = "apply", .usage = "", .summary = "", .examples = "", .run = main, .describe = describe};
}  // namespace cove::cli
