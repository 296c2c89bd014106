#include "cli/on_sandbox.h"
#include "cli/print.h"

namespace cove::cli {
namespace {

int finish(const Result<void>& done) { return done ? 0 : report(done.error()); }

int pause(Arguments& arguments, std::vector<std::string> words) {
  return on_sandbox(arguments, std::move(words), [](Sandbox& sandbox) { return finish(sandbox.pause()); });
}

int resume(Arguments& arguments, std::vector<std::string> words) {
  return on_sandbox(arguments, std::move(words), [](Sandbox& sandbox) { return finish(sandbox.resume()); });
}

}  // namespace

const Command kPause{
    .name = "pause",
    .usage = "NAME",
    .summary = "Pause all processes of a sandbox until 'cove resume'; gvisor: save its memory to disk",
    .examples = "  cove pause t\n  cove resume t",
    .run = pause,
    .describe = describe_name,
};

const Command kResume{
    .name = "resume",
    .usage = "NAME",
    .summary = "Resume a paused sandbox",
    .examples = "  cove resume t",
    .run = resume,
    .describe = describe_name,
};

}  // namespace cove::cli
