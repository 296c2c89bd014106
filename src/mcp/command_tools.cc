#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/live.h"
#include "mcp/handlers.h"
#include "mcp/live_progress.h"

namespace cove::mcp {
namespace {

constexpr std::size_t kUsualOutput = std::size_t{64} << 10;

std::chrono::milliseconds seconds_of(const Json& arguments, const char* name, double usual) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(arguments.value(name, usual) * 1000));
}

CommandSpec command_of(const Json& arguments) {
  CommandSpec command;
  command.script = arguments["command"].get<std::string>();
  command.session = arguments.value("session", "");
  command.cwd = arguments.value("cwd", "");
  return command;
}

// What is known of a command, as every tool here tells it.
Json describe(const std::string& sandbox, const Outcome& outcome) {
  const bool running = outcome.ending == Ending::running;
  Json json = {{"sandbox", sandbox},
               {"command_id", outcome.id},
               {"outcome", cli::ending_name(outcome.ending)},
               {"exit_code", running ? Json() : Json(cli::exit_code_of(outcome))},
               {"cwd", to_utf8(outcome.cwd)},
               {"duration_ms", (outcome.duration_us + 500) / 1000},
               {"output_bytes", outcome.output_bytes}};
  const std::string& detail = outcome.detail.empty() ? outcome.error_text : outcome.detail;
  if (!detail.empty()) json["detail"] = to_utf8(detail);
  if (!outcome.hint.empty()) json["hint"] = to_utf8(outcome.hint);
  return json;
}

Result<ToolResult> done(Json structured) { return ToolResult{.structured = std::move(structured)}; }

// A part of a log from an offset on, up to a size; what comes after that is not kept.
struct Part {
  std::size_t room;
  std::string bytes;
  bool more = false;

  void add(std::string_view next) {
    const std::size_t fits = std::min(next.size(), room - bytes.size());
    bytes += next.substr(0, fits);
    more = more || fits < next.size();
  }
};

// Waits for the command's end in slices, because a call that is stopped would interrupt the command.
Result<Outcome> read_part(Sandbox& sandbox, const std::string& id, std::uint64_t from, Part& part, Deadline until,
                          const std::stop_token& stop) {
  CommandIo io;
  io.output = [&](Stream, std::string_view bytes) { part.add(bytes); };
  while (true) {
    const proto::Attach what{.id = id, .from = from + part.bytes.size(), .follow = false};
    COVE_TRY(Outcome outcome, sandbox.attach(what, io, {.deadline = Deadline::after(std::chrono::seconds(30))}));
    const bool ended = outcome.ending != Ending::running;
    if (ended || part.more || until.passed() || stop.stop_requested()) return outcome;
    // Until there is more of it, or a moment has passed.
    const proto::Attach more{.id = id, .from = from + part.bytes.size(), .follow = true};
    const auto slice = earlier(until, Deadline::after(std::chrono::milliseconds(200)));
    auto followed = sandbox.attach(more, io, {.deadline = slice});
    if (followed) return followed;
    if (followed.error().code != Errc::timeout) return fail(std::move(followed).error());
  }
}

}  // namespace

Result<ToolResult> run_command(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], {.stop = call.stop}));
  CommandSpec command = command_of(arguments);
  command.timeout = seconds_of(arguments, "timeout_seconds", 120);
  command.end_with_client = true;
  Bounded output(arguments.value("max_output_bytes", kUsualOutput));
  LiveProgress progress(call);
  CommandIo io;
  io.output = [&](Stream, std::string_view bytes) {
    output.add(bytes);
    progress.add(bytes);
  };
  if (progress.wanted()) {
    io.activity = [&] { progress.tick(); };
    io.activity_every = LiveProgress::kEvery;
  }
  const std::string in = arguments.value("stdin", "");
  if (!in.empty()) io.stdin_bytes = in;
  COVE_TRY(const Outcome outcome, sandbox->run(command, io, {.stop = call.stop}));
  Json result = describe(sandbox->name(), outcome);
  result["output"] = output.text();
  result["truncated"] = output.cut() || outcome.truncated;
  return done(std::move(result));
}

Result<ToolResult> start_command(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], {.stop = call.stop}));
  CommandSpec command = command_of(arguments);
  command.timeout = seconds_of(arguments, "timeout_seconds", 0);
  command.open_stdin = arguments.value("stdin", false);
  COVE_TRY(const std::string id, sandbox->start(command, {.stop = call.stop}));
  return done({{"sandbox", sandbox->name()}, {"command_id", id}});
}

Result<ToolResult> write_command(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], {.stop = call.stop}));
  const auto id = arguments["command_id"].get<std::string>();
  const std::string text = arguments.value("text", "");
  const auto which = arguments.value("close", false) ? Sandbox::Stdin::last : Sandbox::Stdin::more;
  COVE_CHECK(sandbox->feed(id, text, which, {.stop = call.stop}));
  return done({{"sandbox", sandbox->name()}, {"command_id", id}, {"bytes", text.size()}});
}

Result<ToolResult> read_command(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], {.stop = call.stop}));
  const auto from = arguments.value("offset", std::uint64_t{0});
  Part part{.room = arguments.value("max_output_bytes", kUsualOutput)};
  const auto until = Deadline::after(seconds_of(arguments, "wait_seconds", 0));
  COVE_TRY(const Outcome outcome, read_part(*sandbox, arguments["command_id"], from, part, until, call.stop));
  const bool ended = outcome.ending != Ending::running && !part.more;
  // The rest of a character comes with the next part.
  if (const std::size_t cut = incomplete_tail(part.bytes); !ended && cut < part.bytes.size())
    part.bytes.resize(part.bytes.size() - cut);
  Json result = describe(sandbox->name(), outcome);
  result["output"] = to_utf8(part.bytes);
  result["next_offset"] = from + part.bytes.size();
  result["more"] = part.more;
  return done(std::move(result));
}

Result<ToolResult> list_commands(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], {.stop = call.stop}));
  COVE_TRY(const auto all, sandbox->commands({.stop = call.stop}));
  constexpr std::size_t kMost = 200;
  Json commands = Json::array();
  const std::size_t first = all.size() - std::min(all.size(), kMost);
  for (std::size_t i = first; i < all.size(); ++i) commands.push_back(describe(sandbox->name(), all[i]));
  return done({{"commands", std::move(commands)}, {"truncated", first > 0}});
}

Result<ToolResult> kill_command(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call) {
  COVE_TRY(const auto sandbox, sandboxes.find(arguments["sandbox"], {.stop = call.stop}));
  proto::Signal signal;
  if (arguments.contains("signal")) {
    COVE_TRY(signal.signal, parse_signal(arguments["signal"].get<std::string>()));
  }
  const auto id = arguments["command_id"].get<std::string>();
  COVE_CHECK(sandbox->signal(id, signal, {.stop = call.stop}));
  COVE_TRY(const Outcome outcome, sandbox->status(id, {.stop = call.stop}));
  return done(describe(sandbox->name(), outcome));
}

}  // namespace cove::mcp
