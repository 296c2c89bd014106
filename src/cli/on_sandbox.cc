#include "cli/on_sandbox.h"

#include "cli/print.h"

namespace cove::cli {
namespace {

void define(Arguments& arguments, std::string& name) {
  arguments.positional("NAME", name, Need::required, "The sandbox");
}

}  // namespace

int on_sandbox(Arguments& arguments, std::vector<std::string> words, int (*act)(Sandbox&)) {
  std::string name;
  define(arguments, name);
  if (auto code = arguments.parse(std::move(words))) return *code;
  auto sandbox = Sandbox::open(name);
  return sandbox ? act(*sandbox) : report(sandbox.error());
}

void describe_name(Arguments& arguments) {
  static std::string name;
  define(arguments, name);
}

}  // namespace cove::cli
