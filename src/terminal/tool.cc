#include "terminal/tool.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"
#include "policy/exit_meaning.h"
#include "policy/sudo.h"
#include "terminal/answers.h"
#include "terminal/ask_program.h"
#include "terminal/output.h"

namespace cove::terminal {
namespace {

using Json = nlohmann::json;

std::string text_of(const Answer& answer) {
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A task's own overrides, and on top of them the request's.
Json merged(Json base, const Json& more) {
  if (!base.is_object()) return more;
  if (more.is_object()) base.update(more);
  return base;
}

// A command whose sudos read the password, where there is one to read; they get it before anything else on stdin.
struct Prepared {
  std::string script;
  std::optional<std::string> stdin_bytes;
  std::string password;  // if it was used
};

Prepared prepare(const Request& request, const policy::Script& script) {
  const char* password = std::getenv("SUDO_PASSWORD");
  if (password == nullptr || *password == '\0') return {request.command, request.stdin_bytes, ""};
  auto rewritten = policy::sudo_reads_stdin(request.command, script);
  if (rewritten.count == 0) return {request.command, request.stdin_bytes, ""};
  std::string lines;
  for (unsigned i = 0; i < rewritten.count; ++i) lines += std::string(password) + "\n";
  return {std::move(rewritten.text), lines + request.stdin_bytes.value_or(""), password};
}

std::string suffix_of(const Outcome& outcome, std::chrono::milliseconds timeout) {
  if (outcome.ending == Ending::timeout) return "[Command timed out after " + seconds_text(timeout) + "]";
  return outcome.ending == Ending::interrupted ? "[Command interrupted]" : "";
}

}  // namespace

struct Terminal::Running {
  Settings settings;
  policy::Script script;
  std::string hint;
  Tasks::Use use;
  std::chrono::milliseconds timeout{};
  bool promoted = false;
};

// Before anything is made for it.
std::optional<Answer> Terminal::refused(const Request& request, Running& running, Hooks& hooks) {
  if (!request.workdir.empty()) {
    if (auto good = check_workdir(request.workdir); !good) return blocked_answer(good.error().message);
  }
  const Settings& settings = running.settings;
  const Tasks::Known known = tasks_.known(request.task);
  const std::string cwd = request.workdir.empty() ? known.cwd.value_or(settings.spec.cwd) : request.workdir;
  if (!hooks.approve && !settings.ask_program.empty())
    hooks.approve = ask_program(settings.ask_program, settings.ask_timeout);
  // An interrupt that comes while a person thinks is overruled by a yes.
  policy::Ask person;
  if (hooks.approve) {
    person = [&](const policy::Question& question) {
      auto answer = hooks.approve(question);
      if (hooks.stop.stop_requested()) hooks.stop = {};
      return answer;
    };
  }
  running.script = policy::parse_shell(request.command);
  GuardVerdict verdict = guard_.judge({.script = running.script,
                                       .command = request.command,
                                       .task = request.task,
                                       .cwd = cwd,
                                       .deny = settings.deny,
                                       .ask = settings.ask,
                                       .isolated = settings.isolated() && known.isolated,
                                       .background = request.background || running.promoted,
                                       .approved = request.approved,
                                       .person = std::move(person)});
  running.hint = std::move(verdict.hint);
  if (verdict.kind == GuardVerdict::Kind::run) return std::nullopt;
  return verdict.kind == GuardVerdict::Kind::blocked ? blocked_answer(verdict.why) : error_answer(verdict.why);
}

std::string Terminal::run(std::string_view text, const Hooks& hooks) {
  try {
    const auto request = parse_request(parse_json(text));
    return text_of(request ? run(*request, hooks) : error_answer(request.error().message));
  } catch (const std::exception& e) {
    return text_of(error_answer(std::string("internal: ") + e.what()));
  }
}

Answer Terminal::run(const Request& request, Hooks hooks) {
  Running running;
  auto settings = read_settings(policy::host_env(), merged(*tasks_.overrides(request.task), *request.overrides));
  if (!settings) return error_answer(settings.error().message);
  running.settings = std::move(*settings);
  running.timeout = request.timeout.value_or(running.settings.timeout);
  running.promoted = !request.background && request.timeout && *request.timeout > running.settings.max_foreground;
  if (hooks.stop.stop_requested())
    return failed_answer({Errc::cancelled, "the call was stopped before it began"}, running.settings);
  if (auto answer = refused(request, running, hooks)) return std::move(*answer);
  auto use = tasks_.use(request.task, running.settings, {.deadline = Deadline::never(), .stop = hooks.stop});
  if (!use) return failed_answer(use.error(), running.settings);
  running.use = std::move(*use);
  Answer answer = request.background || running.promoted ? run_background(request, running, hooks)
                                                         : run_foreground(request, running, hooks);
  if (!running.use.recreated.empty()) answer["environment_recreated"] = running.use.recreated;
  if (running.use.made && !running.settings.warnings.empty()) answer["warnings"] = running.settings.warnings;
  return answer;
}

Answer Terminal::run_foreground(const Request& request, Running& running, const Hooks& hooks) {
  CommandSpec command;
  const Prepared prepared = prepare(request, running.script);
  command.script = prepared.script;
  command.cwd = request.workdir;
  command.timeout = running.timeout;
  command.pty = request.pty;
  command.rows = request.rows;
  command.columns = request.columns;
  command.end_with_client = true;
  Output output(running.settings.output_chars);
  CommandIo io;
  io.output = [&](Stream, std::string_view bytes) { output.add(bytes); };
  if (prepared.stdin_bytes) io.stdin_bytes = *prepared.stdin_bytes;
  io.activity = hooks.activity;
  io.activity_every = hooks.activity_every;
  auto outcome = running.use.sandbox->run(command, io, {.deadline = Deadline::never(), .stop = hooks.stop});
  if (!outcome) return failed_answer(outcome.error(), running.settings);
  if (!outcome->error_text.empty()) output.add(outcome->error_text);
  Redaction redaction{.values = secret_values(policy::host_env()), .assignments = lists_variables(request.command)};
  if (prepared.password.size() >= 4) redaction.values.push_back(prepared.password);
  const auto rendered = output.finish(redaction, suffix_of(*outcome, running.timeout));
  Answer answer = finished_answer(*outcome, rendered);
  if (const std::string meaning = policy::exit_meaning(running.script, outcome->exit_code);
      !meaning.empty() && outcome->ending == Ending::exited && !answer.contains("exit_code_meaning"))
    answer["exit_code_meaning"] = meaning;
  if (!running.hint.empty() && outcome->ending == Ending::timeout) answer["hint"] = running.hint;
  const bool moved = !outcome->cwd.empty() && request.workdir.empty() && running.use.cwd != outcome->cwd;
  if (moved) {
    answer["cwd"] = outcome->cwd;
    tasks_.note_cwd(request.task, outcome->cwd);
  }
  return answer;
}

Answer Terminal::run_background(const Request& request, Running& running, const Hooks& hooks) {
  BackgroundRequest what;
  what.task = request.task;
  const Prepared prepared = prepare(request, running.script);
  what.command.script = prepared.script;
  what.command.cwd = request.workdir;
  what.command.pty = request.pty;
  what.command.rows = request.rows;
  what.command.columns = request.columns;
  what.command.open_stdin = request.open_stdin;
  if (running.promoted || request.timeout) what.command.timeout = running.timeout;
  what.stdin_bytes = prepared.stdin_bytes.value_or("");
  what.notify_on_complete = request.notify_on_complete || running.promoted;
  what.watch_patterns = request.watch_patterns;
  const auto started =
      background_.start(running.use.sandbox, std::move(what), {.deadline = Deadline::never(), .stop = hooks.stop});
  if (!started && started.error().code == Errc::not_found) return error_answer(started.error().message);
  if (!started) return failed_answer(started.error(), running.settings);
  Answer answer{{"output", "Background process started"}, {"session_id", started->id}};
  answer["pid"] = started->pid != 0 ? Answer(started->pid) : Answer();
  answer["exit_code"] = 0;
  answer["error"] = nullptr;
  if (request.notify_on_complete || running.promoted) answer["notify_on_complete"] = true;
  if (!request.watch_patterns.empty()) answer["watch_patterns"] = request.watch_patterns;
  if (running.promoted)
    answer["promoted_from_foreground"] = "a timeout of " + seconds_text(running.timeout) +
                                         " is more than a call waits (" +
                                         seconds_text(running.settings.max_foreground) +
                                         "): it runs in the background, was started once, and tells when it has ended";
  return answer;
}

std::string Terminal::process(std::string_view text, const Hooks& hooks) {
  try {
    const Json request = parse_json(text);
    if (!request.is_object()) return R"({"status":"error","error":"expected a JSON object"})";
    return json_text(background_.act(request, {.deadline = Deadline::never(), .stop = hooks.stop}));
  } catch (const std::exception& e) {
    return json_text({{"status", "error"}, {"error", std::string("internal: ") + e.what()}});
  }
}

std::string Terminal::cleanup(std::string_view text) {
  const Json request = parse_json(text);
  const auto task = request.is_object() ? request.value("task_id", Json()) : Json();
  const auto remove = request.is_object() ? request.value("remove", Json(false)) : Json(false);
  if (!task.is_string() || !remove.is_boolean())
    return json_text({{"status", "error"}, {"error", "cleanup: expected {\"task_id\": text, \"remove\": bool}"}});
  const auto name = task.get<std::string>();
  guard_.end_session(name.empty() ? "default" : name);
  const auto done =
      tasks_.cleanup(name.empty() ? "default" : name, remove.get<bool>() ? Tasks::Fate::remove : Tasks::Fate::keep);
  if (!done) return json_text({{"status", "error"}, {"error", done.error().message}});
  return json_text({{"status", "ok"}, {"cleaned", *done}});
}

std::string Terminal::set_overrides(std::string_view text) {
  const Json request = parse_json(text);
  const auto task = request.is_object() ? request.value("task_id", Json()) : Json();
  if (!task.is_string()) return json_text({{"status", "error"}, {"error", "task_id: expected text"}});
  const Json overrides = request.value("overrides", Json());
  if (auto good = read_settings(policy::host_env(), overrides); !good)
    return json_text({{"status", "error"}, {"error", good.error().message}});
  const auto name = task.get<std::string>();
  tasks_.set_overrides(name.empty() ? "default" : name, overrides);
  return json_text({{"status", "ok"}});
}

std::string Terminal::notifications(Deadline deadline) { return json_text(background_.notifications(deadline)); }

void Terminal::disown() noexcept { tasks_.disown(); }

}  // namespace cove::terminal
