#include "capi/verbs.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "capi/answer.h"

namespace cove::capi {
namespace {

using Json = nlohmann::json;

std::string text(const Asked& asked, const char* key) { return asked.request.value(key, std::string()); }

CommandSpec command_of(const Json& request) {
  CommandSpec command;
  command.script = request.value("script", "");
  command.argv = request.value("argv", std::vector<std::string>());
  command.id = request.value("id", "");
  command.session = request.value("session", "");
  command.cwd = request.value("cwd", "");
  command.user = request.value("user", "");
  command.env = request.value("env", std::vector<std::string>());
  command.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(request.value("timeout", 0.0) * 1000));
  command.split = request.value("split", false);
  command.pty = request.value("pty", false);
  command.rows = request.value("rows", std::uint16_t{24});
  command.columns = request.value("columns", std::uint16_t{80});
  command.apart = request.value("apart", false);
  command.open_stdin = request.value("open_stdin", false);
  command.end_with_client = request.value("end_with_client", true);
  return command;
}

Result<Json> run(Asked& asked) {
  const CommandSpec command = command_of(asked.request);
  // A view of nothing is not the same as no stdin.
  if (asked.request.value("stdin", false))
    asked.io.stdin_bytes = asked.bytes.data() == nullptr ? std::string_view("") : asked.bytes;
  COVE_TRY(const Outcome outcome, asked.sandbox.run(command, asked.io, asked.call));
  return to_json(outcome);
}

Result<Json> start(Asked& asked) {
  CommandSpec command = command_of(asked.request);
  command.end_with_client = false;
  COVE_TRY(const std::string id, asked.sandbox.start(command, asked.call));
  return Json{{"id", id}};
}

Result<Json> attach(Asked& asked) {
  asked.io.leave_on_stop = true;
  COVE_TRY(const Outcome outcome, asked.sandbox.attach({.id = text(asked, "id"),
                                                        .from = asked.request.value("from", std::uint64_t{0}),
                                                        .follow = asked.request.value("follow", true)},
                                                       asked.io, asked.call));
  return to_json(outcome);
}

Result<Json> list(Asked& asked) {
  COVE_TRY(const auto outcomes, asked.sandbox.commands(asked.call));
  Json all = Json::array();
  for (const Outcome& outcome : outcomes) all.push_back(to_json(outcome));
  return all;
}

Result<Json> status(Asked& asked) {
  COVE_TRY(const Outcome outcome, asked.sandbox.status(text(asked, "id"), asked.call));
  return to_json(outcome);
}

Result<Json> read_file(Asked& asked) {
  COVE_TRY(const std::string bytes, asked.sandbox.read_file(text(asked, "path"), asked.call));
  if (asked.io.output) asked.io.output(Stream::out, bytes);
  return Json{{"size", bytes.size()}};
}

Result<Json> list_files(Asked& asked) {
  COVE_TRY(const auto entries, asked.sandbox.list_files(text(asked, "path"), asked.call));
  Json all = Json::array();
  for (const FileInfo& entry : entries) all.push_back(to_json(entry));
  return all;
}

Result<Json> stat_file(Asked& asked) {
  COVE_TRY(const FileInfo info, asked.sandbox.stat_file(text(asked, "path"), asked.call));
  return to_json(info);
}

Result<Json> parsed(Result<std::string> json) {
  COVE_TRY(const std::string answer, std::move(json));
  return parse_json(answer);
}

Result<Json> skipped(Result<std::vector<std::string>> sentences) {
  COVE_TRY(const auto all, std::move(sentences));
  return Json{{"skipped", all}};
}

Result<Json> done(Result<void> result) {
  COVE_CHECK(std::move(result));
  return Json::object();
}

using Verb = Result<Json> (*)(Asked&);
const std::pair<std::string_view, Verb> kVerbs[] = {
    {"run", run},
    {"start", start},
    {"attach", attach},
    {"list", list},
    {"status", status},
    {"inspect", [](Asked& a) { return parsed(a.sandbox.inspect(a.call)); }},
    {"feed",
     [](Asked& a) {
       const auto which = a.request.value("eof", false) ? Sandbox::Stdin::last : Sandbox::Stdin::more;
       return done(a.sandbox.feed(text(a, "id"), a.bytes, which, a.call));
     }},
    {"signal",
     [](Asked& a) {
       return done(a.sandbox.signal(
           text(a, "id"),
           {.signal = a.request.value("signal", 0), .grace_ms = a.request.value("grace_ms", std::uint32_t{2000})},
           a.call));
     }},
    {"read_file", read_file},
    {"write_file",
     [](Asked& a) {
       return done(
           a.sandbox.write_file(text(a, "path"), a.bytes, a.request.value("mode", std::uint32_t{0644}), a.call));
     }},
    {"list_files", list_files},
    {"stat_file", stat_file},
    {"make_directory", [](Asked& a) { return done(a.sandbox.make_directory(text(a, "path"), a.call)); }},
    {"remove_file", [](Asked& a) { return done(a.sandbox.remove_file(text(a, "path"), a.call)); }},
    {"move_file", [](Asked& a) { return done(a.sandbox.move_file(text(a, "from"), text(a, "to"), a.call)); }},
    {"copy_in", [](Asked& a) { return skipped(a.sandbox.copy_in(text(a, "from"), text(a, "to"), a.call)); }},
    {"copy_out", [](Asked& a) { return skipped(a.sandbox.copy_out(text(a, "from"), text(a, "to"), a.call)); }},
    {"snapshot", [](Asked& a) { return parsed(a.sandbox.snapshot(text(a, "tag"), a.call)); }},
    {"restore", [](Asked& a) { return done(a.sandbox.restore(text(a, "tag"), a.call)); }},
    {"undo", [](Asked& a) { return done(a.sandbox.undo(a.request.value("count", std::uint32_t{1}), a.call)); }},
    {"history", [](Asked& a) { return parsed(a.sandbox.history(a.call)); }},
    {"checkpoint", [](Asked& a) { return done(a.sandbox.checkpoint(a.request.value("on", true), a.call)); }},
    {"pause", [](Asked& a) { return done(a.sandbox.pause(a.call)); }},
    {"resume", [](Asked& a) { return done(a.sandbox.resume(a.call)); }},
    {"stop",
     [](Asked& a) {
       return done(a.sandbox.stop(
           {.remove = a.request.value("remove", false), .grace_ms = a.request.value("grace_ms", std::uint32_t{2000})},
           a.call));
     }},
};

}  // namespace

Result<Json> perform(Asked& asked) {
  if (!asked.request.is_object()) return fail(Errc::invalid, "the request is not a JSON object");
  const std::string wanted = text(asked, "verb");
  for (const auto& [name, verb] : kVerbs) {
    if (name == wanted) return verb(asked);
  }
  return fail(Errc::invalid, "verb '" + wanted + "' is not known; see cove.h");
}

}  // namespace cove::capi
