#include <unistd.h>

#include "backend/guest_path.h"
#include "cli/arguments.h"
#include "cli/companion.h"
#include "cli/print.h"

namespace cove::cli {

int become_program(const std::string& name, const std::string& variable, std::vector<std::string> words) {
  const auto program = find_companion(name, variable);
  if (!program) return report(program.error());
  std::string self = name;
  std::vector<char*> argv{self.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program->c_str(), argv.data());
  // It is there, as find_companion saw: what is not there is its interpreter.
  if (errno == ENOENT) {
    return report(Error{Errc::unsupported, *program + " needs the GNU C library, which this machine does not have: run "
                                                      "it where glibc is installed"});
  }
  return report(errno_error(errno, "run " + *program));
}

int become_image_program(std::vector<std::string> words) {
  return become_program("cove-image", "COVE_IMAGE_PROGRAM", std::move(words));
}

namespace {

// The program answers --help itself.
int run_image(Arguments&, std::vector<std::string> words) { return become_image_program(std::move(words)); }

}  // namespace

const Command kImage{
    .name = "image",
    .usage = "COMMAND ...",
    .summary = "Images: pull, load, import, save, ls, inspect, rm, prune",
    .examples = "  cove image load app.tar\n  cove image ls",
    .run = run_image,
    .describe = [](Arguments&) {},
};

}  // namespace cove::cli
