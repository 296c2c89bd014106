// cove-image: what `cove image` runs. Apart from `cove`, because unpacking and fetching need libraries that every other
// command would pay for when it starts.

#include <csignal>
#include <exception>

#include "cli/man_page.h"
#include "cli/print.h"
#include "image/cli/commands.h"

namespace cove::image {
namespace {

std::string overview() {
  std::string text =
      "Images: root file systems that sandboxes start from.\n\nUsage: cove image COMMAND [OPTIONS] ...\n\n";
  for (const Command& command : image_commands()) {
    std::string line = "  " + std::string(command.name.substr(command.name.find(' ') + 1));
    line.resize(std::max<std::size_t>(line.size() + 1, 12), ' ');
    text += line + std::string(command.summary) + "\n";
  }
  return text +
         "\n'cove image COMMAND --help' tells more.\n\n"
         "Examples:\n"
         "  cove image load image.tar             what 'docker save' or 'skopeo copy' wrote\n"
         "  cove image import rootfs/ mine:1      a directory or tar becomes an image\n"
         "  cove image ls\n"
         "  cove run --image mine:1 -- 'ls /'\n";
}

const Command* find(const std::string& name) {
  for (const Command& command : image_commands()) {
    if (command.name == "image " + name) return &command;
  }
  for (const Command& command : snapshot_commands()) {
    if (name == "snapshot-" + std::string(command.name.substr(command.name.find(' ') + 1))) return &command;
  }
  return nullptr;
}

// What 'cove man' asks for: "man NAME" prints a page, "man --directory DIR" writes all of them.
int manual(const std::vector<std::string>& words) {
  std::vector<cli::ManualPage> pages{cli::manual_page(cli::kImage, image_commands())};
  for (const Command& command : image_commands()) pages.push_back(cli::manual_page(command));
  for (const Command& command : snapshot_commands()) pages.push_back(cli::manual_page(command));
  if (words.size() == 3 && words[1] == "--directory") {
    const auto written = cli::write_manual_pages(words[2], pages);
    return written ? 0 : report(written.error());
  }
  for (const cli::ManualPage& page : pages) {
    if (words.size() != 2 || page.name != "cove-" + words[1]) continue;
    print(page.text);
    return 0;
  }
  cli::complain("there is no such manual page\nTry 'cove image --help'.");
  return cli::kUsageError;
}

int dispatch(std::vector<std::string> words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || (words[0] == "help" && words.size() == 1)) {
    cli::print(overview());
    return words.empty() ? cli::kUsageError : 0;
  }
  if (words[0] == "help") words = {words[1], "--help"};
  if (words[0] == "man") return manual(words);
  const Command* command = find(words[0]);
  if (command == nullptr) {
    cli::complain("there is no command 'image " + words[0] + "'\nTry 'cove image --help'.");
    return cli::kUsageError;
  }
  words.erase(words.begin());
  Arguments arguments(*command);
  return command->run(arguments, std::move(words));
}

}  // namespace
}  // namespace cove::image

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return cove::image::dispatch({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::exception& error) {
    cove::cli::complain(std::string("internal error: ") + error.what());
    return cove::cli::kOwnError;
  }
}
