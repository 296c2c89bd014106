#include "selftest/inside.h"

namespace cove::selftest {
namespace {

// Less than what is left of an attempt's time, so that it is the command that ends and not the conversation.
std::chrono::milliseconds act_time(const Call& call) {
  constexpr std::chrono::milliseconds kUsual{8000}, kLeast{500};
  if (call.deadline.is_never()) return kUsual;
  return std::max(kLeast,
                  std::chrono::duration_cast<std::chrono::milliseconds>(call.deadline.at() - Clock::now()) * 4 / 5);
}

std::string without_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Result<Inside> Inside::make(const SandboxSpec& spec, const std::string& program, const Call& call) {
  COVE_TRY(Sandbox sandbox, Sandbox::create(spec, call));
  return enter(std::move(sandbox), program, call);
}

Result<Inside> Inside::enter(Sandbox sandbox, const std::string& program, const Call& call) {
  // Others may look into it: some acts are done as another user.
  const CommandSpec command{
      .script = "d=$(mktemp -d \"$PWD/.cove-selftest-XXXXXX\") && chmod 755 \"$d\" && printf %s \"$d\"",
      .session = "cove-selftest"};
  COVE_TRY(const Completed made, sandbox.collect(command, {}, call));
  if (made.outcome.exit_code != 0) {
    return fail(Errc::internal, "no directory can be made inside: " + without_newline(made.output));
  }
  COVE_CHECK(sandbox.write_file(made.output + "/cove-attempt", program, 0755, call));
  return Inside(std::move(sandbox), made.output);
}

Result<void> Inside::leave(const Call& call) { return sandbox_.remove_file(directory_, call); }

Ran Inside::run(const CommandSpec& command, const Call& call) {
  Ran ran;
  auto completed = sandbox_.collect(command, {}, call);
  if (!completed) {
    ran.trouble = completed.error().text();
    ran.gone = completed.error().code == Errc::disconnected;
    return ran;
  }
  ran.ending = completed->outcome.ending;
  ran.code = completed->outcome.exit_code;
  ran.signal = completed->outcome.signal;
  ran.output = std::move(completed->output);
  ran.gone = ran.ending == Ending::lost;
  return ran;
}

Ran Inside::act(const std::vector<std::string>& words, const Call& call, On on) {
  CommandSpec command;
  command.argv = {program()};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.cwd = directory_;
  command.pty = on == On::terminal;
  command.timeout = act_time(call);
  return run(command, call);
}

Ran Inside::shell(const std::string& script, const Call& call) {
  CommandSpec command;
  command.script = script;
  command.cwd = directory_;
  command.timeout = act_time(call);
  Ran ran = run(command, call);
  // What many programs and shells say when they were refused something; an act of ours never ends so.
  if (ran.ending == Ending::exited && ran.code == 2) ran.code = 1;
  return ran;
}

}  // namespace cove::selftest
