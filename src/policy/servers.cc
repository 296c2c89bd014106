#include "policy/servers.h"

#include <algorithm>
#include <initializer_list>

namespace cove::policy {
namespace {

std::string_view operand(const Call& call, std::size_t i) {
  return i < call.operands.size() ? std::string_view(call.operands[i]->text) : std::string_view();
}

// dev, start, serve, watch, also dev:api.
bool is_server_script(std::string_view script) {
  return is_any(script.substr(0, script.find(':')), {"dev", "start", "serve", "watch", "develop", "preview"});
}

bool is_package_server(const Call& call) {
  const bool run = is_any(operand(call, 0), {"run", "run-script"});
  if (!run && call.command.name == "npm" && operand(call, 0) != "start") return false;
  return is_server_script(operand(call, run ? 1 : 0));
}

bool compose_stays(const Call& call, std::size_t verb) {
  const auto is_detached = [](const Word& word) {
    return is_any(word.text,
                  {"-d", "--detach", "--wait", "--no-start", "--abort-on-container-exit", "--exit-code-from"}) ||
           word.text.starts_with("--exit-code-from=");
  };
  return operand(call, verb) == "up" && std::none_of(call.command.words.begin(), call.command.words.end(), is_detached);
}

// docker compose -f x.yml up: the values of options stand among the operands.
bool is_compose(const Call& call) {
  std::size_t i = 0;
  if (is_any(call.command.name, {"docker", "podman"})) {
    if (operand(call, 0) != "compose") return false;
    i = 1;
  } else if (!is_any(call.command.name, {"docker-compose", "podman-compose"})) {
    return false;
  }
  while (i < call.operands.size() && operand(call, i) != "up") ++i;
  return compose_stays(call, i);
}

// python -m MODULE
bool is_python_server(const Call& call) {
  const std::vector<Word>& words = call.command.words;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    const std::string module = text == "-m" && i + 1 < words.size() ? words[i + 1].text : "";
    if (is_any(module, {"http.server", "SimpleHTTPServer", "uvicorn", "gunicorn", "hypercorn"})) return true;
    if (module == "flask") return call.any_operand("run");
    if (text.ends_with("manage.py")) return call.any_operand("runserver");
    if (!text.starts_with('-')) return false;
  }
  return false;
}

// Names that serve with a certain first word.
bool is_serving_verb(const Call& call) {
  const std::string& name = call.command.name;
  const std::string_view verb = operand(call, 0);
  if (is_any(name, {"next", "nuxt", "astro", "remix", "gatsby", "expo"})) return is_server_script(verb);
  if (is_any(name, {"ng", "jekyll", "mkdocs", "webpack", "parcel", "vue-cli-service"})) return verb == "serve";
  if (name == "vite") return !call.any_operand("build") && !call.any_operand("optimize");
  if (name == "rails") return is_any(verb, {"s", "server"});
  if (name == "hugo") return is_any(verb, {"server", "serve"});
  if (name == "flask") return verb == "run";
  if (name == "cargo") return verb == "watch";
  if (name == "kubectl") return is_any(verb, {"port-forward", "proxy"});
  if (is_any(name, {"streamlit", "adk"})) return is_any(verb, {"run", "web"});
  if (name == "php") return call.has('S') || (verb == "artisan" && operand(call, 1) == "serve");
  return name.ends_with("manage.py") && verb == "runserver";
}

bool follows(const Call& call) {
  const bool follow = call.has('f', "--follow") || call.has('F');
  return follow && std::none_of(call.options.begin(), call.options.end(),
                                [](std::string_view option) { return option.starts_with("--pid"); });
}

}  // namespace

bool is_server(const Call& call) {
  const std::string& name = call.command.name;
  if (call.has('\0', "--version") || (call.has('v') && call.operands.empty())) return false;
  if (is_any(name, {"npm", "yarn", "pnpm", "bun"})) return is_package_server(call);
  if (name == "gunicorn") return !call.has('D', "--daemon");
  if (is_any(name, {"nodemon", "uvicorn", "hypercorn", "daphne", "live-server", "http-server", "webpack-dev-server",
                    "browser-sync", "ngrok", "ts-node-dev"})) {
    return true;
  }
  if (name.starts_with("python") || name == "py") return is_python_server(call);
  return is_compose(call) || is_serving_verb(call) ||
         (is_any(name, {"tsc", "jest", "vitest", "webpack", "rollup"}) && call.has('\0', "--watch"));
}

bool never_ends(const Call& call) {
  const std::string& name = call.command.name;
  if (name == "tail") return follows(call);
  if (is_any(name, {"journalctl", "dmesg"})) return call.has('f', "--follow") || call.has('w', "--follow");
  if (is_any(name, {"kubectl", "docker", "podman"})) return operand(call, 0) == "logs" && follows(call);
  if (name == "sleep") return call.any_operand("infinity") || call.any_operand("inf");
  if (name == "ping") return !call.has('c') && !call.operands.empty() && !call.has('w');
  if (name == "watch") return !call.operands.empty();
  return is_any(name, {"inotifywait"}) && call.has('m', "--monitor");
}

bool wants_screen(const Call& call) {
  const std::string& name = call.command.name;
  if (is_any(name, {"top", "htop"})) return !call.has('b');
  if (name == "tmux") return call.operands.empty() || is_any(operand(call, 0), {"attach", "a", "attach-session"});
  if (is_any(name, {"vim", "vi", "nvim", "emacs"})) return !call.has('e') && !call.has('\0', "--batch");
  return is_any(name, {"nano", "less", "more", "mc", "tig", "lazygit"});
}

}  // namespace cove::policy
