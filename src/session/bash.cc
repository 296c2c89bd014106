#include <algorithm>
#include <array>

#include "session/declarations.h"
#include "session/dialect.h"

namespace cove::session {
namespace {

// Writes the state to the capture descriptor. The first steps cannot be redefined by the command: an assignment turns
// on posix mode, in which special builtins (set, trap, unset) come before functions; after that `builtin` is the real
// one, and everything else is reached through it. Descriptor 5 is there again when bash has unwound the command's
// group, and still put aside as 10 when a signal ended it in the middle.
constexpr std::string_view kCaptureHead =
    R"({ case ${__cove_f-} in "") __cove_s=$? __cove_o=$SHELLOPTS __cove_b=$BASHOPTS; POSIXLY_CORRECT=1; )"
    R"(\set +exuv; \trap - DEBUG ERR RETURN; \unset -f builtin; \unset -v POSIXLY_CORRECT; )";
constexpr std::string_view kCaptureEnding =
    R"(; { \builtin printf '%s\0' "$__cove_s"; \builtin pwd -P || \builtin printf '%s\n' "$PWD"; )"
    R"(\builtin printf '\0'; \builtin trap -p EXIT; \builtin printf '\0'; )";
constexpr std::string_view kCaptureState =
    R"(; \builtin printf '%s\0' "$__cove_o" "$__cove_b"; \builtin umask; )"
    R"(\builtin printf '\0'; \builtin declare -p; \builtin printf '\0'; )"
    R"(\builtin declare -f; \builtin printf '\0'; \builtin declare -F; \builtin printf '\0'; \builtin alias -p; )"
    R"(\builtin printf '\0'; \builtin unset -v BASH_EXECUTION_STRING __cove && )"
    R"(\builtin printf '%s\n' "$# ${#DIRSTACK[@]} $0 $!"; \builtin enable -n; \builtin trap -p; \builtin hash -r; )"
    R"(\builtin printf '\0END'; } >&"$__cove_f"; )";

// `find_descriptor` sets __cove_f; `say_ended` and `say_captured` write to the ready pipe.
std::string capture_text(std::string_view find_descriptor, std::string_view say_ended, std::string_view say_captured) {
  std::string text(kCaptureHead);
  for (const std::string_view part : {find_descriptor, kCaptureEnding, say_ended, kCaptureState, say_captured}) {
    text.append(part);
  }
  return text.append(" ;; esac; } >/dev/null 2>&1");
}

// As the EXIT trap: after `exit` or `set -e` the group's descriptors are back; when a signal ends the shell in the
// middle they are not, and the status is not final either.
std::string trap_action() {
  return capture_text("__cove_f=5; : >&5 || __cove_f=10",
                      R"(case $__cove_f in 5) \builtin printf e >&6 && \builtin read -r -t 0.1 -u 4 __cove;; esac)",
                      R"(case $__cove_f in 5) \builtin printf d >&6;; esac)");
}

constexpr std::string_view kLoad =
    R"(\builtin read -r -d "" -u 3 __cove; \builtin eval "$__cove" </dev/null >/dev/null 2>&1; \builtin printf r >&6; )";

// Waits for a command and runs it in a group, behind which the shell's own descriptors are there again. One line, so
// that the command's first line is line 1 in messages; what is to be done first stands apart, so that bash shows none
// of it with a line that it complains about. The `-t` is against a TMOUT in the session. Behind a command's text stands
// that of the next round: in a loop a command's `break` would end it.
std::string make_round() {
  return R"(\builtin read -r -t 999999999 -u 4 __cove || \builtin exit "${__cove_s-0}"; )"
         R"(IFS= \builtin read -r -d "" -t 999999999 -u 7 __cove; )"
         R"(IFS= \builtin read -r -d "" -t 999999999 -u 7 BASH_EXECUTION_STRING; )"
         R"({ \builtin eval "$__cove"; \builtin eval "$BASH_EXECUTION_STRING"; )" +
         capture_text("__cove_f=10", R"(\builtin printf e >&11 && \builtin read -r -t 0.1 -u 13 __cove_h)", ":") +
         R"(; } 5>&- 6>&- 3<&- 4<&- 7<&-; )"
         // Posix mode has moved these.
         R"(case :$__cove_b: in *:inherit_errexit:*) ;; *) \builtin shopt -u inherit_errexit;; esac; )"
         R"(case :$__cove_b: in *:expand_aliases:*) \builtin shopt -s expand_aliases;; esac; )"
         R"(case ${__cove_h-}$BASHOPTS in "heard$__cove_b") ;; *) \builtin exit "$__cove_s";; esac; )"
         R"(\builtin printf w >&6 || \builtin exit "$__cove_s"; )"
         R"(IFS= \builtin read -r -d "" -t 999999999 -u 7 __cove; \builtin eval "$__cove")";
}

std::string bash_program() { return std::string(kLoad) + make_round(); }

// Whatever the login files or nobody has left: as a session begins.
constexpr std::string_view kSettle =
    "__cove_b=:$BASHOPTS:; POSIXLY_CORRECT=1; \\trap - DEBUG ERR RETURN EXIT; \\set +euxv; \\unset -f builtin; "
    "\\unset -v POSIXLY_CORRECT\n"
    // Posix mode leaves this behind.
    "[[ $__cove_b == *:inherit_errexit:* ]] || \\builtin shopt -u inherit_errexit; \\builtin unset -v __cove_b\n";

std::string enter_text(std::string_view cwd) {
  const std::string at = quote(cwd);
  return "[[ $PWD == " + at + " ]] || { \\builtin cd -P -- " + at + "; \\builtin unset -v OLDPWD; }\n";
}

// The shell's own: read-only, computed, or about this one process.
constexpr std::array<std::string_view, 43> kNotKept{"BASH",
                                                    "BASHOPTS",
                                                    "BASHPID",
                                                    "BASH_ALIASES",
                                                    "BASH_ARGC",
                                                    "BASH_ARGV",
                                                    "BASH_ARGV0",
                                                    "BASH_CMDS",
                                                    "BASH_COMMAND",
                                                    "BASH_EXECUTION_STRING",
                                                    "BASH_LINENO",
                                                    "BASH_LOADABLES_PATH",
                                                    "BASH_SOURCE",
                                                    "BASH_SUBSHELL",
                                                    "BASH_TRAPSIG",
                                                    "BASH_VERSINFO",
                                                    "BASH_VERSION",
                                                    "BASH_XTRACEFD",
                                                    "COMP_WORDBREAKS",
                                                    "DIRSTACK",
                                                    "EPOCHREALTIME",
                                                    "EPOCHSECONDS",
                                                    "EUID",
                                                    "FUNCNAME",
                                                    "GROUPS",
                                                    "HISTCMD",
                                                    "LINENO",
                                                    "PIPESTATUS",
                                                    "POSIXLY_CORRECT",
                                                    "PPID",
                                                    "PWD",
                                                    "RANDOM",
                                                    "SECONDS",
                                                    "SHELLOPTS",
                                                    "SRANDOM",
                                                    "UID",
                                                    "_",
                                                    "__cove",
                                                    "__cove_b",
                                                    "__cove_f",
                                                    "__cove_h",
                                                    "__cove_o",
                                                    "__cove_s"};

// What would lock a person out, or ends with its shell.
constexpr std::array<std::string_view, 9> kOptionsNotKept{"errexit", "nounset", "xtrace",     "noexec",    "verbose",
                                                          "onecmd",  "history", "privileged", "restricted"};
constexpr std::array<std::string_view, 3> kOptionsOnByDefault{"braceexpand", "hashall", "interactive-comments"};

// What is not kept and is not undone when a command is over.
constexpr std::array<std::string_view, 6> kOptionsThatStay{"posix",  "history",    "noexec",
                                                           "onecmd", "privileged", "restricted"};
// What a round is written with and an alias could be named.
constexpr std::array<std::string_view, 5> kOurWords{"{", "}", "case", "in", "esac"};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Aliases stay off until everything else is parsed, or they would be expanded inside the functions' bodies.
std::string shopt_text(std::string_view bashopts) {
  std::string words, list;
  for (const std::string_view word : split_words(bashopts)) {
    if (word == "expand_aliases") continue;
    words.append(" ").append(word);
    list.append(list.empty() ? "" : ":").append(word);
  }
  return "[[ $BASHOPTS == " + list + " ]] || { \\builtin shopt -u ${BASHOPTS//:/ }; \\builtin shopt -s" + words +
         "; }\n";
}

std::string set_text(std::string_view shellopts) {
  const auto on = split_words(shellopts);
  std::string text;
  for (const std::string_view word : kOptionsOnByDefault) {
    if (!contains(on, word)) text.append("\\builtin set +o ").append(word).append("\n");
  }
  for (const std::string_view word : on) {
    if (!contains(kOptionsOnByDefault, word) && !contains(kOptionsNotKept, word) && word != "posix") {
      text.append("\\builtin set -o ").append(word).append("\n");
    }
  }
  if (contains(on, "posix")) text += "\\builtin set -o posix\n";
  return text;
}

std::string_view find_entry(std::string_view text, std::string_view name) {
  for (const Declaration& entry : split_declarations(text)) {
    if (entry.name == name) return entry.text;
  }
  return {};
}

std::string variables_text(std::string_view declared, const State& before, bool own_cwd) {
  std::string text;
  for (const Declaration& entry : split_declarations(declared)) {
    if (contains(kNotKept, entry.name) || (own_cwd && entry.name == "OLDPWD")) continue;
    text.append(entry.text).append("\n");
  }
  if (own_cwd) text.append(find_entry(before.variables, "OLDPWD")).append("\n");
  return text;
}

// Bash itself or its loader would act on these before the session's text is read, or complain about them aloud.
bool may_travel(std::string_view name) {
  constexpr std::array<std::string_view, 13> kNames{
      "SHLVL",          "ENV",      "IFS",        "PS4",       "OLDPWD",  "TMOUT",      "LANG",
      "POSIX_PEDANTIC", "FUNCNEST", "GLOBIGNORE", "IGNOREEOF", "LOCPATH", "HOSTALIASES"};
  constexpr std::array<std::string_view, 7> kPrefixes{"BASH", "LD_", "LC_", "MALLOC_", "GLIBC_", "GCONV_", "HIST"};
  return !contains(kNames, name) && std::none_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

// declare -x NAME="value": nullopt for what is more than that.
std::optional<std::string> plain_export(const Declaration& entry) {
  constexpr std::size_t kLongest = 4096;
  constexpr std::string_view kStart = "declare -x ";
  const std::size_t head = kStart.size() + entry.name.size() + 2;
  const std::string_view text = entry.text;
  if (text.size() <= head || text.size() > kLongest || text.substr(0, kStart.size()) != kStart) return std::nullopt;
  if (text.substr(head - 2, 2) != "=\"" || text.back() != '"' || !may_travel(entry.name)) return std::nullopt;
  std::string plain = std::string(entry.name) + "=";
  for (std::size_t at = head; at + 1 < text.size(); ++at) {
    if (text[at] == '\\') ++at;
    plain += text[at];
  }
  return plain;
}

class Bash : public Dialect {
 public:
  std::string_view name() const override { return "bash"; }
  const std::vector<std::string>& argv() const override { return argv_; }
  const std::vector<std::string>& blank_argv() const override { return blank_argv_; }

  State begin(const std::vector<std::string>& env, std::string_view cwd, bool login) const override {
    State state;
    state.cwd = cwd;
    state.from_login = login;
    std::string& text = state.text;
    for (const std::string& entry : env) {
      const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
      if (!is_identifier(name) || contains(kNotKept, name)) continue;
      state.variables.append("declare -x ").append(name).append("=");
      state.variables.append(quote(entry.substr(name.size() + 1))).append("\n");
    }
    if (login) {
      text +=
          "if [[ -r /etc/profile ]]; then . /etc/profile; fi\n"
          "if [[ -r ~/.bash_profile ]]; then . ~/.bash_profile; elif [[ -r ~/.bash_login ]]; then . ~/.bash_login; "
          "elif [[ -r ~/.profile ]]; then . ~/.profile; fi\n";
    }
    text.append(kSettle).append(enter_text(cwd)).append(ready_);
    // What the login files left is told at once, so that they are read only once.
    if (login)
      text.append(capture_text("__cove_f=5", ":", ":"))
          .append("\n\\builtin unset -v __cove_b __cove_f __cove_o __cove_s\n");
    return state;
  }

  std::string blank_beginning() const override { return std::string(kSettle) + ready_; }
  std::string blank_rest(const State& state, std::uint32_t seed) const override {
    std::string text = "RANDOM=" + std::to_string(seed) + " SECONDS=0\n";
    for (const std::string_view name : kBaseNames) text.append("\\builtin declare +x ").append(name).append("\n");
    if (find_entry(state.variables, "LC_CTYPE").empty()) text += "\\builtin unset -v LC_CTYPE\n";
    text += state.variables;
    if (!state.from_login) return text + enter_text(state.cwd);
    // Login files find a shell as it starts, and set all of the rest once more.
    return text + "\\builtin trap - EXIT; \\builtin shopt -u expand_aliases\n" + state.text;
  }

  Preload preload(const State& state) const override {
    constexpr std::size_t kMost = 256;  // the kernel limits the whole
    Preload preload;
    std::vector<std::string_view> travelled;
    for (const Declaration& entry : split_declarations(state.variables)) {
      auto plain = travelled.size() < kMost ? plain_export(entry) : std::nullopt;
      if (!plain) {
        preload.text.append(entry.text).append("\n");
        continue;
      }
      preload.env.push_back(*std::move(plain));
      travelled.push_back(entry.name);
    }
    for (const std::string_view name : kBaseNames) {
      if (!contains(travelled, name)) preload.text.insert(0, "\\builtin declare +x " + std::string(name) + "\n");
    }
    preload.text += state.text;
    return preload;
  }

  std::string command(const CommandText& command) const override {
    std::string text = "\\builtin unset -v __cove __cove_b __cove_f __cove_h __cove_o __cove_s";
    if (!command.again.empty()) {
      text.append("; __cove=${OLDPWD-}; \\builtin cd -- ").append(quote(command.again));
      text.append(" 2>/dev/null; OLDPWD=$__cove; \\builtin unset -v __cove");
    }
    if (!command.cwd.empty()) {
      text.append("; \\builtin cd -- ").append(quote_path(command.cwd)).append(" || \\builtin exit 126");
    }
    if (command.last_status != 0) {
      text.append("; __cove(){ \\builtin unset -f __cove; \\builtin return ");
      text.append(std::to_string(command.last_status)).append("; }; __cove");
    }
    for (const std::string_view part : {std::string_view(), command.script, std::string_view(round_)})
      text.append(part).push_back('\0');
    return text;
  }

  std::optional<State> read_capture(std::string_view capture, const State& before, bool own_cwd) const override {
    const auto parts = split_capture(capture);
    if (!parts) return std::nullopt;
    State state;
    state.last_status = parse_status(parts->status);
    state.cwd = own_cwd ? before.cwd : std::string(without_newline(parts->cwd));
    state.umask = parse_umask(parts->umask, before.umask);
    state.variables = variables_text(parts->variables, before, own_cwd);
    state.text = shopt_text(parts->more_options);
    state.text.append(parts->functions).append(parts->attributes).append(trap_).append(parts->aliases);
    state.text += set_text(parts->options);
    if (contains(split_words(parts->more_options), "expand_aliases")) {
      state.text += "\\builtin shopt -s expand_aliases\n";
    }
    return state;
  }

  bool is_as_before(std::string_view capture) const override {
    const auto parts = split_capture(capture);
    if (!parts || parts->rest != as_before_) return false;
    const auto on = split_words(parts->options);
    return std::none_of(on.begin(), on.end(), [](std::string_view word) { return contains(kOptionsThatStay, word); }) &&
           std::none_of(kOurWords.begin(), kOurWords.end(), [&](std::string_view word) {
             return parts->aliases.find("alias " + std::string(word) + "=") != std::string_view::npos;
           });
  }

  std::optional<Ending> read_ending(std::string_view capture) const override {
    const auto status = take_part(capture), cwd = take_part(capture), exit_trap = take_part(capture);
    if (!exit_trap || *exit_trap != exit_trap_) return std::nullopt;
    return Ending{parse_status(*status), std::string(without_newline(*cwd))};
  }

 private:
  const std::vector<std::string> argv_{"bash", "--noprofile", "--norc", "-c", bash_program()};
  const std::vector<std::string> blank_argv_{
      "bash", "--noprofile", "--norc", "-c",
      std::string(kLoad) + R"(\builtin read -r -u 4 __cove || \builtin exit 0; )" + bash_program()};
  const std::string exit_trap_ = "trap -- " + quote(trap_action()) + " EXIT\n";  // as `trap -p` shows it
  const std::string round_ = make_round(), as_before_ = "0 1 bash \n" + exit_trap_;
  // To show a trap bash asks for the disposition of every signal, once: before the command, not after it.
  const std::string trap_ = "\\builtin " + exit_trap_ + "\\builtin trap -p EXIT\n";
  const std::string ready_ = "\\builtin shopt -s expand_aliases\n" + trap_;
};

}  // namespace

const Dialect& bash_dialect() {
  static const Bash bash;
  return bash;
}

}  // namespace cove::session
