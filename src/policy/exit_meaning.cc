#include "policy/exit_meaning.h"

#include <algorithm>
#include <array>

#include "policy/call.h"

namespace cove::policy {
namespace {

struct Meaning {
  std::string_view names;  // between blanks; after a '+' the first operand or option that must be there
  int code;
  std::string_view text;
};

constexpr std::string_view kNoMatch = "No lines matched, which is not an error";
constexpr std::string_view kDiffer = "The files differ, which is not an error";

constexpr std::array<Meaning, 66> kMeanings{{
    {" grep egrep fgrep rg ag ack zgrep zegrep zfgrep bzgrep xzgrep pcregrep ", 1, kNoMatch},
    {" grep egrep fgrep rg zgrep ", 2, "The pattern is wrong or a file could not be read"},
    {" git+grep ", 1, kNoMatch},
    {" git+diff ", 1, "There are differences, which is not an error"},
    {" git+merge git+cherry-pick git+rebase git+stash git+pull ", 1,
     "It did not go through, often because of conflicts"},
    {" git ", 1, "Not always an error: some git commands answer a question with 1"},
    {" git ", 128, "Git gave up: not a repository, an unknown revision, no access or a lock"},
    {" git ", 129, "Git does not know this option or was called wrongly"},
    {" diff colordiff cmp zdiff zcmp sdiff diff3 ", 1, kDiffer},
    {" diff cmp ", 2, "A file could not be read or the options are wrong"},
    {" find ", 1, "Some files or directories could not be read; what was found is still good"},
    {" test [ [[ ", 1, "The condition is false, which is not an error"},
    {" test [ [[ ", 2, "The condition is written wrongly"},
    {" (( let ", 1, "The expression is 0, which is not an error"},
    {" expr ", 1, "The expression is empty or 0, which is not an error"},
    {" pgrep pkill pidof killall ", 1, "No process matched"},
    {" which type hash command ", 1, "There is no command of that name"},
    {" systemctl+is-active ", 3, "The unit is not active"},
    {" systemctl+status ", 3, "The unit is not running"},
    {" systemctl+status ", 4, "There is no such unit"},
    {" systemctl+is-enabled ", 1, "The unit is not enabled"},
    {" timeout ", 124, "The time given to 'timeout' was over"},
    {" timeout ", 125, "'timeout' itself failed"},
    {" timeout ", 137, "'timeout' had to kill the command (SIGKILL)"},
    {" xargs ", 123, "At least one of the commands that xargs ran has failed"},
    {" xargs ", 124, "A command that xargs ran ended with 255, so xargs stopped"},
    {" docker podman ", 125, "The engine could not do what was asked; the command in the container did not run"},
    {" curl ", 3, "The URL is malformed"},
    {" curl ", 5, "The proxy's name could not be resolved"},
    {" curl ", 6, "The host's name could not be resolved"},
    {" curl ", 7, "Nothing listens there, or the host cannot be reached"},
    {" curl ", 18, "The transfer ended too early"},
    {" curl ", 22, "The server answered with an HTTP error (400 or above)"},
    {" curl ", 23, "The received data could not be written"},
    {" curl ", 26, "The data to send could not be read"},
    {" curl ", 28, "The time limit of the transfer was over"},
    {" curl ", 35, "The TLS handshake failed"},
    {" curl ", 47, "Too many redirects"},
    {" curl ", 51, "The server's certificate does not fit its name"},
    {" curl ", 52, "The server answered nothing"},
    {" curl ", 56, "The connection broke while receiving"},
    {" curl ", 60, "The server's certificate cannot be verified"},
    {" wget ", 4, "The network failed: name, connection or route"},
    {" wget ", 5, "The server's certificate cannot be verified"},
    {" wget ", 6, "The server wants a user and a password"},
    {" wget ", 8, "The server answered with an error"},
    {" ssh scp sftp ", 255, "The connection failed; the remote command may not have run"},
    {" rsync ", 12, "The connection broke or rsync is missing on the other side"},
    {" rsync ", 23, "Some files could not be transferred"},
    {" rsync ", 24, "Some files vanished before they could be transferred"},
    {" make gmake ", 2, "A target could not be made; the first error is further up"},
    {" make+-q ", 1, "Something is not up to date, which is not an error"},
    {" tar ", 1, "Some files changed while they were read or differ"},
    {" pytest py.test ", 1, "Some tests failed"},
    {" pytest py.test ", 2, "The run was interrupted or a test file could not be loaded"},
    {" pytest py.test ", 4, "pytest was called wrongly"},
    {" pytest py.test ", 5, "No tests were found"},
    {" ping ", 1, "There was no answer"},
    {" ping ", 2, "The host's name could not be resolved, or the call is wrong"},
    {" jq ", 2, "The input could not be read or the call is wrong"},
    {" jq ", 3, "The jq program is written wrongly"},
    {" jq ", 5, "The jq program failed on this input"},
    {" apt apt-get ", 100, "The package could not be found or installed, or the package system is locked"},
    {" unzip ", 1, "There were warnings, but the archive was read"},
    {" unzip ", 9, "This is not a zip archive, or it cannot be found"},
    {" cargo ", 101, "The build or the tests failed; the first error is further up"},
}};

struct Signal {
  int number;
  std::string_view text;
};
constexpr std::array<Signal, 13> kSignals{{{1, "SIGHUP"},
                                           {2, "SIGINT, an interrupt"},
                                           {3, "SIGQUIT"},
                                           {4, "SIGILL, an instruction that this processor does not have"},
                                           {6, "SIGABRT: it gave up by itself, often after a failed check"},
                                           {7, "SIGBUS, often a truncated file or a full /dev/shm"},
                                           {8, "SIGFPE, often a division by zero"},
                                           {9, "SIGKILL, often because memory ran out"},
                                           {11, "SIGSEGV, a memory error in the program"},
                                           {13, "SIGPIPE: whoever read its output had left"},
                                           {14, "SIGALRM, a time limit of its own"},
                                           {15, "SIGTERM, a request to end"},
                                           {31, "SIGSYS, a system call that is not allowed here"}}};

// "git+grep" is about `git grep`, "make+-q" about make with that option.
bool is_about(std::string_view names, const Call& call) {
  while (!names.empty()) {
    names.remove_prefix(std::min(names.find_first_not_of(' '), names.size()));
    const std::string_view each = names.substr(0, names.find(' '));
    names.remove_prefix(each.size());
    const std::size_t plus = each.find('+');
    if (each.empty() || each.substr(0, plus) != call.command.name) continue;
    if (plus == std::string_view::npos) return true;
    const std::string_view needed = each.substr(plus + 1);
    const bool option = std::find(call.options.begin(), call.options.end(), needed) != call.options.end();
    if (option || call.first_is(needed)) return true;
  }
  return false;
}

std::string_view meaning_of(const SimpleCommand& command, int code) {
  const Call call(command);
  const auto found = std::find_if(kMeanings.begin(), kMeanings.end(),
                                  [&](const Meaning& each) { return each.code == code && is_about(each.names, call); });
  return found == kMeanings.end() ? std::string_view() : found->text;
}

// The command, then what ran it: `timeout 5 grep x f` may end with grep's codes and with timeout's.
std::string_view meaning_of_chain(const Script& script, int index, int code) {
  for (; index >= 0; index = script.commands[static_cast<std::size_t>(index)].wrapper) {
    const auto text = meaning_of(script.commands[static_cast<std::size_t>(index)], code);
    if (!text.empty()) return text;
  }
  return {};
}

bool is_chosen(const SimpleCommand& command) {
  return (command.name == "exit" || command.name == "return") && command.words.size() > 1;
}

std::string general_meaning(int code) {
  if (code == 126) return "The command was found but could not be run: no permission, or not a program";
  if (code == 127) return "The command was not found: it is not installed or not in PATH";
  const int number = code < 0 ? -code : code - 128;
  const auto signal =
      std::find_if(kSignals.begin(), kSignals.end(), [&](const Signal& each) { return each.number == number; });
  if (signal == kSignals.end()) return code < 0 ? "Ended by signal " + std::to_string(number) : std::string();
  return std::string(code < 0 ? "Ended by " : "Usually: ended by ") + std::string(signal->text);
}

// With `set -e` any command may have been the last.
bool stops_at_errors(const Script& script) {
  return std::any_of(script.commands.begin(), script.commands.end(),
                     [](const SimpleCommand& command) { return command.name == "set" && Call(command).has('e'); });
}

}  // namespace

std::string exit_meaning(const Script& script, int code) {
  if (code == 0) return {};
  if (code > 0 && !stops_at_errors(script)) {
    for (auto index = script.deciders.rbegin(); index != script.deciders.rend(); ++index) {
      if (is_chosen(script.commands[static_cast<std::size_t>(*index)])) return {};
      const std::string_view text = meaning_of_chain(script, *index, code);
      if (!text.empty()) return std::string(text);
    }
  }
  return general_meaning(code);
}

}  // namespace cove::policy
