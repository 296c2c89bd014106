#include "policy/shell_wrappers.h"

#include <algorithm>
#include <array>

#include "policy/shell_parser_detail.h"

namespace cove::policy {
namespace {

// A program that runs the rest of its words.
struct Wrapper {
  std::string_view name;
  std::string_view letters;         // short options with a value
  std::string_view words;           // long options whose value is a word of its own, each between blanks
  unsigned operands = 0;            // words before the command
  std::string_view not_a_run = {};  // short options with which nothing is run
};

constexpr std::array<Wrapper, 29> kWrappers{{
    {"sudo", "ugpCcRrtTDhU",
     " --user --group --prompt --close-from --chroot --role --type --command-timeout --chdir --host --other-user ", 0,
     "elvKV"},
    {"doas", "uC", ""},
    {"env", "uCS", " --unset --chdir "},
    {"nohup", "", ""},
    {"nice", "n", " --adjustment "},
    {"ionice", "cn", " --class --classdata ", 0, "pPu"},
    {"chrt", "TPD", "", 1, "p"},
    {"taskset", "", "", 1, "p"},
    {"timeout", "ks", " --kill-after --signal ", 1},
    {"time", "fo", " --format --output "},
    {"command", "", "", 0, "vV"},
    {"exec", "a", ""},
    {"builtin", "", ""},
    {"setsid", "", ""},
    {"stdbuf", "ioe", " --input --output --error "},
    {"xargs", "InPLsdEa",
     " --replace --max-args --max-procs --max-lines --max-chars --delimiter --eof --arg-file --process-slot-var "},
    {"busybox", "", ""},
    {"toybox", "", ""},
    {"flock", "wE", " --timeout --wait --conflict-exit-code ", 1},
    {"strace", "oeEspuaIbOSPX", ""},
    {"ltrace", "oeEspuanADFlLS", ""},
    {"watch", "nq", " --interval --equexit "},
    {"unbuffer", "", ""},
    {"catchsegv", "", ""},
    {"caffeinate", "tw", ""},
    {"faketime", "", "", 1},
    {"npx", "p", " --package "},
    {"pnpx", "", ""},
    {"bunx", "", ""},
}};

constexpr std::array<std::string_view, 10> kShells{"sh",  "bash", "dash", "ash",   "zsh",
                                                   "ksh", "mksh", "yash", "rbash", "lksh"};

bool is_assignment(std::string_view text) {
  if (text.empty() || !is_name_start(text[0])) return false;
  const std::size_t equals = text.find('=');
  return equals != std::string_view::npos && std::all_of(text.begin(), text.begin() + equals, is_name_byte);
}

auto from(const std::vector<Word>& words, std::size_t first) {
  return words.begin() + static_cast<std::ptrdiff_t>(first);
}

enum class Option : unsigned char { alone, takes_next, runs_nothing };

// `-abc`: a letter with a value takes the rest of the word, or the next one if there is no rest.
Option short_option(std::string_view option, const Wrapper& wrapper) {
  for (std::size_t i = 1; i < option.size(); ++i) {
    if (wrapper.letters.find(option[i]) != std::string_view::npos)
      return i + 1 == option.size() ? Option::takes_next : Option::alone;
    if (wrapper.not_a_run.find(option[i]) != std::string_view::npos) return Option::runs_nothing;
  }
  return Option::alone;
}

// The index of the command in a wrapper's words, or 0.
std::size_t command_in(const std::vector<Word>& words, const Wrapper& wrapper) {
  std::size_t i = 1;
  unsigned operands = wrapper.operands;
  for (; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == "--") continue;
    if (text.starts_with("--")) {
      if (wrapper.words.find(" " + text + " ") != std::string_view::npos) ++i;
    } else if (text.size() > 1 && text[0] == '-') {
      const Option option = short_option(text, wrapper);
      if (option == Option::runs_nothing) return 0;
      if (option == Option::takes_next) ++i;
    } else if (text == "-" || is_assignment(text)) {
      continue;
    } else if (operands > 0) {
      --operands;
    } else {
      return i;
    }
  }
  return 0;
}

// `uv run x`, `bundle exec x`
bool is_runner(std::string_view name, const std::vector<Word>& words) {
  constexpr std::array<std::string_view, 7> kRunners{"uv", "poetry", "pipenv", "bundle", "hatch", "rye", "pdm"};
  return words.size() > 2 && (words[1].text == "run" || words[1].text == "exec") &&
         std::find(kRunners.begin(), kRunners.end(), name) != kRunners.end();
}

std::string joined(const std::vector<Word>& words, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < words.size(); ++i) text += (i == first ? "" : " ") + words[i].text;
  return text;
}

// The index of the word that `-c` makes the script, or 0. `file` becomes the first operand's index.
std::size_t script_of_shell(const std::vector<Word>& words, std::size_t& file) {
  bool has_script = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == "--rcfile" || text == "--init-file") {
      ++i;
    } else if (text.size() > 1 && (text[0] == '-' || text[0] == '+') && !text.starts_with("--")) {
      has_script = has_script || (text[0] == '-' && text.find('c') != std::string::npos);
      if (text.back() == 'o' || text.back() == 'O') ++i;
    } else if (text.starts_with("--") || text == "-") {
      continue;
    } else if (has_script) {
      return i;
    } else {
      file = i;
      return 0;
    }
  }
  return 0;
}

// find ... -exec COMMAND ... ; or +
void add_find(const std::vector<Word>& words, InnerCommands& inner) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text != "-exec" && text != "-execdir" && text != "-ok" && text != "-okdir") continue;
    std::vector<Word> command;
    for (++i; i < words.size() && words[i].text != ";" && words[i].text != "+"; ++i) command.push_back(words[i]);
    if (!command.empty()) inner.commands.push_back(std::move(command));
  }
}

// `-c SCRIPT` anywhere: su, script, flock.
void add_option_c(const std::vector<Word>& words, InnerCommands& inner) {
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& text = words[i].text;
    const bool cluster = text.size() > 1 && text[0] == '-' && text[1] != '-' && text.back() == 'c';
    if (cluster || text == "--command") return inner.scripts.push_back(words[i + 1].text);
  }
}

// env -S 'NAME=1 command ...': words after its own splitting, which is near enough to the shell's.
void add_env_split(const std::vector<Word>& words, InnerCommands& inner) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == "-S" || text == "--split-string") return inner.scripts.push_back(joined(words, i + 1));
    if (text.starts_with("-S")) return inner.scripts.push_back(text.substr(2) + " " + joined(words, i + 1));
    if (text.starts_with("--split-string="))
      return inner.scripts.push_back(text.substr(15) + " " + joined(words, i + 1));
    if (!text.starts_with("-")) return;
  }
}

std::vector<Word> split_value(const Word& value) {
  std::vector<Word> words;
  std::size_t at = 0;
  while ((at = value.text.find_first_not_of(" \t\n", at)) != std::string::npos) {
    const std::size_t end = std::min(value.text.find_first_of(" \t\n", at), value.text.size());
    words.push_back({value.text.substr(at, end - at), value.kinds.substr(at, end - at)});
    at = end;
  }
  return words;
}

// One unquoted variable and nothing else.
bool is_variable(const Word& word) {
  return !word.text.empty() && word.kinds.find_first_not_of('$') == std::string::npos && !word.text.starts_with("$(");
}

// The command word is one unquoted variable.
void add_variable(const SimpleCommand& outer, const Script& script, InnerCommands& inner) {
  constexpr std::size_t kMost = 4;
  const Word& head = outer.words.front();
  if (!is_variable(head)) return;
  std::string_view name = std::string_view(head.text).substr(1);
  if (name.starts_with('{')) name = name.substr(1, name.size() - 2);
  for (auto value = script.values.rbegin(); value != script.values.rend() && inner.commands.size() < kMost; ++value) {
    if (value - script.values.rbegin() > 256) break;
    // A value made of variables may be made of this one.
    if (value->name != name || value->value.kinds.find_first_of("$\"") != std::string::npos) continue;
    std::vector<Word> words = split_value(value->value);
    if (words.empty()) continue;
    words.insert(words.end(), outer.words.begin() + 1, outer.words.end());
    inner.commands.push_back(std::move(words));
  }
  if (!inner.commands.empty()) return;
  const auto first = std::find_if_not(outer.words.begin(), outer.words.end(), is_variable);
  if (first != outer.words.end() && !first->text.starts_with('-'))
    inner.commands.emplace_back(first, outer.words.end());
}

}  // namespace

bool is_shell(std::string_view name) { return std::find(kShells.begin(), kShells.end(), name) != kShells.end(); }

bool reads_script_from_stdin(const SimpleCommand& command) {
  if (!is_shell(command.name)) return false;
  std::size_t file = 0;
  if (script_of_shell(command.words, file) != 0) return false;
  const auto is_s = [](const Word& word) { return word.text == "-s"; };
  return file == 0 || std::any_of(command.words.begin(), command.words.end(), is_s) ||
         command.words[file].text == "/dev/stdin";
}

InnerCommands inner_commands(const SimpleCommand& outer, const Script& script) {
  InnerCommands inner;
  const std::vector<Word>& words = outer.words;
  if (words.empty()) return inner;
  const std::string& name = outer.name;
  std::size_t file = 0;
  if (name.empty()) {
    add_variable(outer, script, inner);
  } else if (is_shell(name)) {
    if (const std::size_t i = script_of_shell(words, file); i != 0) inner.scripts.push_back(words[i].text);
  } else if (name == "eval") {
    inner.scripts.push_back(joined(words, words.size() > 1 && words[1].text == "--" ? 2 : 1));
  } else if (name == "trap" && words.size() > 2 && !words[1].text.starts_with('-')) {
    inner.scripts.push_back(words[1].text);
  } else if (name == "find") {
    add_find(words, inner);
  }
  if (is_runner(name, words)) {
    const Wrapper runner{.name = name, .letters = "", .words = "", .operands = 1};
    if (const std::size_t i = command_in(words, runner); i != 0)
      inner.commands.emplace_back(from(words, i), words.end());
  }
  if (name == "su" || name == "script" || name == "flock") add_option_c(words, inner);
  if (name == "env") add_env_split(words, inner);
  const auto wrapper =
      std::find_if(kWrappers.begin(), kWrappers.end(), [&](const Wrapper& w) { return w.name == name; });
  if (wrapper == kWrappers.end() || !inner.scripts.empty()) return inner;
  const std::size_t first = command_in(words, *wrapper);
  if (first != 0 && name == "watch") {
    inner.scripts.push_back(joined(words, first));
  } else if (first != 0) {
    inner.commands.emplace_back(from(words, first), words.end());
  }
  return inner;
}

}  // namespace cove::policy
