// The terminal as a way to whoever sits at it, and output as a way to the terminal.

#include <fcntl.h>
#include <unistd.h>

#include "client/launch.h"
#include "os/pty.h"
#include "selftest/stage.h"

namespace cove::selftest {
namespace {

constexpr std::string_view kTerminalsGroup = "inject into the terminal";

template <const char* Act>
Verdict on_terminal(Stage& stage) {
  return judge(stage.act({Act}, Inside::On::terminal));
}

constexpr char kInject[] = "inject", kInjectLong[] = "inject_long", kPaste[] = "paste";

// A terminal of the host, as the user's is.
Verdict scribble(Stage& stage) {
  auto terminal = os::open_pty(24, 80);
  char path[128];
  if (!terminal || ttyname_r(terminal->slave.get(), path, sizeof(path)) != 0)
    return not_applicable("the host has no terminals");
  const Ran ran = stage.act({"scribble", path, stage.bait().token()});
  char bytes[256];
  const ssize_t n = read(terminal->master.get(), bytes, sizeof(bytes));
  const std::string_view seen(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
  return judge_outside(ran, seen.find(stage.bait().token()) != std::string_view::npos, std::string("wrote to ") + path);
}

// Sets a title, asks for an answer, clears the screen.
constexpr std::string_view kEvil = "\033]0;evil\007\033[6n\033[2J";
constexpr std::string_view kEvilWord = "'\\033]0;evil\\007\\033[6n\\033[2J'";

Verdict log_exact(Stage& stage) {
  const Ran ran = stage.shell("printf " + std::string(kEvilWord));
  if (auto verdict = untried(ran)) return *verdict;
  return ran.output == kEvil ? held("every byte is kept as it was") : broken("the log is not what was written");
}

// What a caller sees of the sandbox by our own program must not hold control characters that the sandbox chose.
Verdict without_control(const std::string& shown, std::string_view expected) {
  if (shown.find('\033') != std::string::npos) return broken("escape sequences of the sandbox reach the terminal");
  if (shown.find(expected) == std::string::npos) return broken("could not be tried: it said " + clean_line(shown));
  return held("they are shown, not sent");
}

Verdict in_json(Stage& stage) {
  auto place = stage.inside();
  if (!place) return broken("could not be tried: " + place.error().text());
  const std::string script = "printf " + std::string(kEvilWord);
  return without_control(
      host_output({keeper_program(), "sh", "--json", (*place)->sandbox().name(), "--", script}, stage.call().deadline),
      "\\u001b]0;evil");
}

Verdict in_file_names(Stage& stage) {
  auto place = stage.inside();
  if (!place) return broken("could not be tried: " + place.error().text());
  const Ran ran = stage.shell("mkdir -p names && cd names && mkfifo \"$(printf '\\033]0;evil\\007')\" && echo made");
  if (ran.output != "made\n") return broken("could not be tried: " + clean_line(ran.output));
  const std::string from = (*place)->sandbox().name() + ":" + (*place)->directory() + "/names";
  return without_control(
      host_output({keeper_program(), "cp", from, stage.bait().own() + "/names"}, stage.call().deadline), "evil");
}

constexpr Attempt kTerminalsAttempts[] = {
    {"inject_keys", kTerminalsGroup, "type for whoever reads the terminal next", {}, on_terminal<kInject>},
    {"inject_keys_long", kTerminalsGroup, "the same around a filter (CVE-2019-10063)", {}, on_terminal<kInjectLong>},
    {"paste_selection", kTerminalsGroup, "paste on the console", {}, on_terminal<kPaste>},
    {"controlling_terminal", kTerminalsGroup, "open the caller's terminal", "controlling"},
    {"host_terminal", kTerminalsGroup, "write to another terminal of the host", {}, scribble},
    {"output_bytes", kTerminalsGroup, "have the log differ from the output", {}, log_exact},
    {"escapes_in_json", kTerminalsGroup, "send escape sequences by --json", {}, in_json},
    {"escapes_in_names", kTerminalsGroup, "send escape sequences by a file's name", {}, in_file_names},
};

}  // namespace

std::span<const Attempt> terminal_attempts() { return kTerminalsAttempts; }

}  // namespace cove::selftest
