#include <algorithm>
#include <array>

#include "session/declarations.h"
#include "session/dialect.h"

namespace cove::session {
namespace {

// dash and busybox take only one digit in front of or behind a redirection, so the saved capture descriptor is reached
// by its path. That opens it anew, so it is appended to: the first shell of a session tells its state twice. `[`,
// `printf` and the rest are builtins there; special builtins come before functions by POSIX.
constexpr std::string_view kCapture =
    R"({ case ${__cove_f-} in "") __cove_s=$? __cove_o=$-; set +eux; unset -f printf pwd alias umask [; )"
    R"(__cove_f=/dev/fd/5; [ -e /dev/fd/5 ] || __cove_f=/dev/fd/10; )"
    R"({ printf '%s\0' "$__cove_s"; pwd -P || printf '%s\n' "$PWD"; printf '\0\0%s\0\0' "$__cove_o"; umask; )"
    R"(printf '\0'; set; printf '\0%s\0' "$PWD"; export -p; printf '\0'; alias; )"
    R"(printf '\0\0END'; } >>"$__cove_f";; esac; } >/dev/null 2>&1)";

std::string posix_program() {
  return std::string(R"({ . /dev/fd/3; } </dev/null >/dev/null 2>&1; printf r >&6; read -r __cove <&4 || exit 0; )"
                     R"(. /dev/fd/7 5>&-; )") +
         std::string(kCapture) + R"(; exit "$__cove_s")";
}

constexpr std::array<std::string_view, 16> kNotKeptByPosix{
    "LINENO", "OPTIND",  "PPID",         "PS1",    "PS2",      "PS4",      "PWD",      "_",
    "RANDOM", "SECONDS", "EPOCHSECONDS", "__cove", "__cove_f", "__cove_o", "__cove_s", "EPOCHREALTIME"};

bool is_kept(std::string_view name) {
  return is_identifier(name) &&
         std::find(kNotKeptByPosix.begin(), kNotKeptByPosix.end(), name) == kNotKeptByPosix.end();
}

class Posix : public Dialect {
 public:
  std::string_view name() const override { return "sh"; }
  const std::vector<std::string>& argv() const override { return argv_; }
  const std::vector<std::string>& blank_argv() const override { return none_; }

  State begin(const std::vector<std::string>& env, std::string_view cwd, bool login) const override {
    State state;
    state.cwd = cwd;
    state.from_login = login;
    std::string& text = state.text;
    for (const std::string& entry : env) {
      const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
      if (!is_kept(name)) continue;
      state.variables.append("export ").append(name).append("=");
      state.variables.append(quote(entry.substr(name.size() + 1))).append("\n");
    }
    if (login) text += "[ ! -r /etc/profile ] || . /etc/profile\n[ ! -r ~/.profile ] || . ~/.profile\n";
    const std::string at = quote(cwd);
    text.append("set +eux\n[ \"$PWD\" = ").append(at).append(" ] || cd ").append(at).append(" || :\n");
    text += trap_;
    if (login) text.append(kCapture).append("\nunset __cove_f __cove_o __cove_s\n");
    return state;
  }

  Preload preload(const State& state) const override { return {{}, state.variables + state.text}; }
  std::string blank_beginning() const override { return {}; }
  std::string blank_rest(const State&, std::uint32_t) const override { return {}; }

  std::string command(const CommandText& command) const override {
    std::string text = "exec 3<&- 4<&- 6>&- 7<&-; unset __cove; ";
    if (!command.again.empty()) {
      text.append("__cove=${OLDPWD-}; cd ").append(quote(command.again));
      text.append(" 2>/dev/null; OLDPWD=$__cove; unset __cove; ");
    }
    if (!command.cwd.empty()) {
      // `cd --` is POSIX, but a directory that begins with - is safer behind ./
      const std::string dash = command.cwd[0] == '-' ? "./" : "";
      text.append("cd ").append(dash + quote_path(command.cwd)).append(" || exit 126; ");
    }
    if (command.last_status != 0) {
      text.append("__cove(){ unset -f __cove; return ")
          .append(std::to_string(command.last_status))
          .append("; }; __cove; ");
    }
    return text.append(command.script).append("\n");
  }

  std::optional<State> read_capture(std::string_view capture, const State& before, bool own_cwd) const override {
    const auto parts = split_capture(capture);
    if (!parts) return std::nullopt;
    State state;
    state.last_status = parse_status(parts->status);
    state.cwd = own_cwd ? before.cwd : std::string(without_newline(parts->cwd));
    // In a directory that was removed `pwd -P` says nothing; there are no functions to dump, so $PWD stands there.
    if (state.cwd.empty()) state.cwd = parts->functions;
    state.umask = parse_umask(parts->umask, before.umask);
    for (const Declaration& entry : split_declarations(parts->variables)) {
      if (is_kept(entry.name)) state.variables.append(entry.text).append("\n");
    }
    for (const Declaration& entry : split_declarations(parts->attributes)) {
      if (is_kept(entry.name)) state.variables.append("export ").append(entry.name).append("\n");
    }
    state.text += trap_;
    for (const Declaration& entry : split_declarations(parts->aliases)) {
      const bool named = entry.text.substr(0, 6) == "alias ";
      state.text.append(named ? "" : "alias ").append(entry.text).append("\n");
    }
    for (const char option : {'a', 'f', 'C'}) {
      if (parts->options.find(option) != std::string_view::npos)
        state.text.append("set -").append(1, option).append("\n");
    }
    return state;
  }

  bool is_as_before(std::string_view) const override { return false; }
  // Never told apart from the state: these shells end fast, and their process is waited for.
  std::optional<Ending> read_ending(std::string_view) const override { return std::nullopt; }

 private:
  const std::vector<std::string> argv_{"sh", "-c", posix_program()}, none_;
  const std::string trap_ = "trap -- " + quote(kCapture) + " EXIT\n";
};

}  // namespace

const Dialect& posix_dialect() {
  static const Posix posix;
  return posix;
}

}  // namespace cove::session
