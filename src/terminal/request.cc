#include "terminal/request.h"

#include <nlohmann/json.hpp>

namespace cove::terminal {
namespace {

using Json = nlohmann::json;

const char* type_name(const Json& value) {
  if (value.is_number_integer()) return "int";
  if (value.is_number()) return "float";
  if (value.is_boolean()) return "bool";
  if (value.is_array()) return "list";
  if (value.is_object()) return "dict";
  return value.is_null() ? "None" : "str";
}

// Null where it is not there: callers send null for what they do not mean.
const Json& field(const Json& request, const char* name) {
  static const Json kNothing;
  const auto found = request.find(name);
  return found == request.end() ? kNothing : *found;
}

Failure wrong(const char* name, const char* expected, const Json& value) {
  return fail(Errc::invalid, std::string("Invalid ") + name + ": expected " + expected + ", got " + type_name(value));
}

Result<void> read(const Json& request, const char* name, std::string& text) {
  const Json& value = field(request, name);
  if (value.is_null()) return {};
  if (!value.is_string()) return wrong(name, "string", value);
  text = value.get<std::string>();
  return {};
}

Result<void> read(const Json& request, const char* name, bool& truth) {
  const Json& value = field(request, name);
  if (value.is_null()) return {};
  if (!value.is_boolean()) return wrong(name, "true or false", value);
  truth = value.get<bool>();
  return {};
}

Result<void> read(const Json& request, const char* name, std::uint16_t& number) {
  const Json& value = field(request, name);
  if (value.is_null()) return {};
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > 1000)
    return fail(Errc::invalid, std::string("Invalid ") + name + ": expected a number from 1 to 1000");
  number = value.get<std::uint16_t>();
  return {};
}

Result<void> read_timeout(const Json& request, std::optional<std::chrono::milliseconds>& timeout) {
  const Json& value = field(request, "timeout");
  if (value.is_null()) return {};
  if (!value.is_number()) return wrong("timeout", "a number of seconds", value);
  const double seconds = value.get<double>();
  if (!(seconds >= 0.001) || seconds > 1e9)
    return fail(Errc::invalid, "Invalid timeout: " + value.dump() + " (expected a number of seconds above zero)");
  timeout = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  return {};
}

Result<void> read_patterns(const Json& value, const char* name, std::vector<std::string>& patterns) {
  if (value.is_null()) return {};
  if (!value.is_array()) return wrong(name, "a list of strings", value);
  for (const Json& one : value) {
    if (!one.is_string()) return wrong(name, "a list of strings", one);
    if (!one.get<std::string>().empty()) patterns.push_back(one.get<std::string>());
  }
  return {};
}

// `notify`: true, or a list of patterns; and the two names it had before.
Result<void> read_notify(const Json& request, Request& parsed) {
  const Json& notify = field(request, "notify");
  if (notify.is_boolean())
    parsed.notify_on_complete = notify.get<bool>();
  else
    COVE_CHECK(read_patterns(notify, "notify", parsed.watch_patterns));
  COVE_CHECK(read(request, "notify_on_complete", parsed.notify_on_complete));
  COVE_CHECK(read_patterns(field(request, "watch_patterns"), "watch_patterns", parsed.watch_patterns));
  return {};
}

}  // namespace

Result<Request> parse_request(const Json& request) {
  if (!request.is_object()) return fail(Errc::invalid, "Invalid request: expected a JSON object");
  const Json& command = field(request, "command");
  if (!command.is_string()) {
    std::string text = std::string("Invalid command: expected string, got ") + type_name(command);
    if (request.contains("code")) text += "; 'code' is not an argument: put shell text into 'command'";
    return fail(Errc::invalid, std::move(text));
  }
  Request parsed;
  parsed.command = command.get<std::string>();
  if (parsed.command.find('\0') != std::string::npos)
    return fail(Errc::invalid, "Invalid command: it holds a NUL byte, which no shell takes");
  COVE_CHECK(read(request, "task_id", parsed.task));
  if (parsed.task.empty()) parsed.task = "default";
  COVE_CHECK(read(request, "workdir", parsed.workdir));
  COVE_CHECK(read(request, "background", parsed.background));
  COVE_CHECK(read(request, "pty", parsed.pty));
  COVE_CHECK(read(request, "force", parsed.approved));
  COVE_CHECK(read(request, "open_stdin", parsed.open_stdin));
  COVE_CHECK(read(request, "rows", parsed.rows));
  COVE_CHECK(read(request, "columns", parsed.columns));
  if (!field(request, "stdin").is_null()) COVE_CHECK(read(request, "stdin", parsed.stdin_bytes.emplace()));
  COVE_CHECK(read_timeout(request, parsed.timeout));
  COVE_CHECK(read_notify(request, parsed));
  parsed.overrides = field(request, "overrides");
  return parsed;
}

Result<void> check_workdir(const std::string& workdir) {
  for (const char c : workdir) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F && std::string_view(";|&$`<>\"'*?!#\\").find(c) == std::string_view::npos)
      continue;
    return fail(Errc::denied, "Blocked: workdir holds a character that means something to a shell (" +
                                  (byte < 0x20 || byte == 0x7F ? "a control character" : std::string(1, c)) +
                                  "); use a plain path");
  }
  return {};
}

}  // namespace cove::terminal
