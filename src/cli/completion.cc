#include "cli/completion.h"

#include "cli/print.h"
#include "cli/subcommand.h"

namespace cove::cli {
namespace {

struct CompletionOptions {
  std::string shell;
};

void define(Arguments& arguments, CompletionOptions& options) {
  arguments.positional("SHELL", options.shell, Need::required, "bash or zsh");
}

std::string names_of_commands() {
  std::string names;
  for (const Command& command : commands()) {
    if (command.visible == Visible::yes) names += (names.empty() ? "" : " ") + std::string(command.name);
  }
  return names;
}

std::string names_of_options(const Command& command) {
  Arguments arguments(command);
  command.describe(arguments);
  std::string names;
  for (const auto& option : arguments.options()) {
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

bool takes_sandbox(const Command& command) { return command.usage.starts_with("NAME") || command.name == "cp"; }

}  // namespace

std::string bash_completion() {
  std::string cases;
  for (const Command& command : commands()) {
    if (command.visible == Visible::no) continue;
    cases += "    " + std::string(command.name) + ") options='" + names_of_options(command) + "'";
    if (takes_sandbox(command)) cases += " names=1";
    cases += " ;;\n";
  }
  return "_cove() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} options= names=\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         names_of_commands() +
         "' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  elif [[ ${COMP_WORDS[1]} == completion ]]; then\n"
         "    COMPREPLY=($(compgen -W 'bash zsh' -- \"$word\"))\n"
         "  elif [[ ${COMP_WORDS[1]} == man ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         names_of_commands() +
         "' -- \"$word\"))\n"
         "  elif [[ ${COMP_WORDS[1]} == mcp ]]; then\n"
         "    if ((COMP_CWORD == 2)); then COMPREPLY=($(compgen -W 'install' -- \"$word\"));\n"
         "    elif [[ ${COMP_WORDS[2]} == install ]]; then COMPREPLY=($(compgen -W 'claude-desktop claude-code cursor "
         "vscode codex gemini windsurf lm-studio' -- \"$word\")); fi\n"
         "  elif [[ ${COMP_WORDS[1]} == image ]]; then\n"
         "    if ((COMP_CWORD == 2)); then\n"
         "      COMPREPLY=($(compgen -W 'pull load import save ls inspect rm prune' -- \"$word\"))\n"
         "    elif [[ ${COMP_WORDS[2]} == @(save|inspect|rm) ]]; then\n"
         "      COMPREPLY=($(compgen -W \"$(cove image ls --names 2>/dev/null)\" -- \"$word\"))\n"
         "    fi\n"
         "  elif [[ ${COMP_WORDS[1]} == cp ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$(cove ls --names 2>/dev/null)\" -S : -- \"$word\") $(compgen -f -- "
         "\"$word\"))\n"
         "  elif [[ -n $names ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$(cove ls --names 2>/dev/null)\" -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o default -F _cove cove\n";
}

// zsh runs bash's functions; one script of ours less that could say something else.
std::string zsh_completion() {
  return "#compdef cove\n"
         "autoload -U +X compinit && { (( $+functions[compdef] )) || compinit; }\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_completion();
}

namespace {

int run(Arguments& arguments, CompletionOptions& options) {
  if (options.shell != "bash" && options.shell != "zsh")
    return arguments.usage_error("there are completions for bash and zsh only");
  print(options.shell == "bash" ? bash_completion() : zsh_completion());
  return 0;
}

}  // namespace

const Command kCompletion{
    .name = "completion",
    .usage = "bash|zsh",
    .summary = "Print a completion script for a shell",
    .examples = "  . <(cove completion bash)\n  cove completion zsh > ~/.zfunc/_cove",
    .run = run_with<CompletionOptions>,
    .describe = describe_with<CompletionOptions>,
};

}  // namespace cove::cli
