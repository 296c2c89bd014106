#include "cli/man_page.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/arguments.h"
#include "cli/roff.h"

namespace cove::cli {
namespace {

// "cove image pull", and with another separator "cove-image-pull".
std::string full_name(const Command& command, char separator) {
  std::string name = std::string(command.program) + (command.name.empty() ? "" : " ") + std::string(command.name);
  std::replace(name.begin(), name.end(), ' ', separator);
  return name;
}

std::string head(const Command& command) {
  std::string title = full_name(command, '-');
  std::transform(title.begin(), title.end(), title.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  return ".\\\" Made by 'cove man'.\n.TH " + roff(title) + " 1 \"\" \"cove " COVE_VERSION "\" \"Cove\"\n" +
         roff_section("NAME") + roff(full_name(command, '-')) + " \\- " + roff(command.summary) + "\n" +
         roff_section("SYNOPSIS") + roff_bold(full_name(command, ' ')) + " " + roff(command.usage) + "\n";
}

std::string tag_of(const Arguments::OptionInfo& option) {
  std::string tag;
  for (const std::string& name : option.names) tag += (tag.empty() ? "" : ", ") + roff_bold(name);
  return option.metavar.empty() ? tag : tag + " \\fI" + roff(option.metavar) + "\\fR";
}

std::string items(std::string_view title, const std::vector<Arguments::OptionInfo>& options) {
  std::string text;
  for (const auto& option : options) text += roff_item(tag_of(option), option.help);
  return text.empty() ? "" : roff_section(title) + text;
}

std::string commands_section(std::span<const Command> members) {
  std::string text;
  for (const Command& member : members) text += roff_item(roff_bold(full_name(member, ' ')), member.summary);
  return text.empty() ? "" : roff_section("COMMANDS") + text;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Exit code 1, of those that have one; "" of the others.
std::string_view meaning_of_one(std::string_view name) {
  if (name == "apply") return "There are conflicts.";
  if (name == "selftest") return "An attempt broke out of the sandbox.";
  if (name == "sync") return "Some files were not copied to the host.";
  return "";
}

std::string exit_section(const Command& command) {
  std::string text = roff_section("EXIT STATUS");
  if (command.name == "msb") return text + "As of msb.\n";
  const bool runs = is_one_of(command.name, {"", "run", "sh", "exec", "shell", "attach"});
  if (command.name.empty())
    text += roff("cove run, sh, exec, shell and attach exit with the code of the command in the sandbox.") + "\n";
  else if (runs)
    text += "The exit code of the command in the sandbox. Besides:\n";
  if (!runs || command.name.empty()) text += roff_item("0", "Success.");
  if (const auto one = meaning_of_one(command.name); !one.empty()) text += roff_item("1", one);
  text += roff_item("2", "Wrong usage.");
  if (runs) text += roff_item("124", "The command's time limit was reached.");
  text += roff_item("125", "An error of Cove. A sentence on stderr says what failed and what to do.");
  return text + roff_item("130", "An interrupt, as by Ctrl-C.");
}

std::string examples_section(const Command& command) {
  if (command.examples.empty()) return "";
  std::string text = roff_section("EXAMPLES") + ".EX\n";
  return text + roff(command.examples) + "\n.EE\n";
}

std::string see_also(const Command& command, std::span<const Command> members) {
  std::string text;
  const auto add = [&](const std::string& name) { text += (text.empty() ? "" : ",\n") + roff_bold(name) + "(1)"; };
  if (!command.name.empty()) add(std::string(command.program));
  if (const auto space = command.name.find(' '); space != std::string_view::npos)
    add(std::string(command.program) + "-" + std::string(command.name.substr(0, space)));
  for (const Command& member : members) add(full_name(member, '-'));
  return roff_section("SEE ALSO") + text + "\n";
}

}  // namespace

ManualPage manual_page(const Command& command, std::span<const Command> members, const std::string& more) {
  Arguments arguments(command);
  command.describe(arguments);
  return {full_name(command, '-'), head(command) + roff_section("DESCRIPTION") + roff(command.summary) + ".\n" +
                                       items("ARGUMENTS", arguments.positionals()) +
                                       items("OPTIONS", arguments.options()) + commands_section(members) +
                                       exit_section(command) + more + examples_section(command) +
                                       see_also(command, members)};
}

Result<void> write_manual_pages(const std::string& directory, const std::vector<ManualPage>& pages) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(errno_error(error.value(), "make " + directory));
  for (const ManualPage& page : pages) {
    const std::string path = directory + "/" + page.name + ".1";
    std::ofstream file(path, std::ios::trunc);
    if (!(file << page.text << std::flush)) return fail_errno("write " + path);
  }
  return {};
}

}  // namespace cove::cli
