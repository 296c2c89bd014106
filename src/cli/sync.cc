#include "cli/on_sandbox.h"
#include "cli/print.h"

namespace cove::cli {
namespace {

int bring(Sandbox& sandbox) {
  const auto left = sandbox.sync();
  if (!left) return report(left.error());
  for (const std::string& why : *left) complain("not brought: " + why);
  return left->empty() ? 0 : 1;
}

int sync(Arguments& arguments, std::vector<std::string> words) {
  return on_sandbox(arguments, std::move(words), bring);
}

}  // namespace

const Command kSync{
    .name = "sync",
    .usage = "NAME",
    .summary = "Copy changes in a microvm's volumes to the host; other backends mount volumes directly",
    .examples = "  cove sync t",
    .run = sync,
    .describe = describe_name,
};

}  // namespace cove::cli
