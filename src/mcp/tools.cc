#include "mcp/tools.h"

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "mcp/handlers.h"

namespace cove::mcp {
namespace {

// Which fields stand in several schemas.
constexpr std::string_view kSandbox =
    R"("sandbox": {"type": "string", "minLength": 1, "maxLength": 63,
        "description": "The sandbox's name, from sandbox_create"})";
constexpr std::string_view kCommandId =
    R"("command_id": {"type": "string", "minLength": 1, "maxLength": 200,
        "description": "The command, from command_start"})";
constexpr std::string_view kPath =
    R"("path": {"type": "string", "minLength": 1, "maxLength": 4096,
        "description": "In the sandbox; relative ones start at /workspace"})";
constexpr std::string_view kCommand =
    R"("command": {"type": "string", "minLength": 1, "maxLength": 4194304,
        "description": "A script for the session's shell, which is bash where there is one"},
    "session": {"type": "string", "maxLength": 200,
        "description": "Which shell session; each has its own directory, variables and functions. The default one if not given"},
    "cwd": {"type": "string", "maxLength": 4096, "description": "Directory for this command only"})";
constexpr std::string_view kMostOutput =
    R"("max_output_bytes": {"type": "integer", "minimum": 1000, "maximum": 1000000, "description": "Usually 65536"})";
constexpr std::string_view kOutcome =
    R"("sandbox": {"type": "string"}, "command_id": {"type": "string"},
    "outcome": {"type": "string", "enum": ["running", "exited", "signaled", "timeout", "interrupted", "oom", "lost"]},
    "exit_code": {"type": ["integer", "null"], "description": "null while it runs; 124 timeout, 130 interrupted"},
    "cwd": {"type": "string"}, "duration_ms": {"type": "integer"},
    "output_bytes": {"type": "integer", "description": "All that was written"},
    "detail": {"type": "string"}, "hint": {"type": "string"})";
constexpr std::string_view kOutcomeNames =
    R"("sandbox", "command_id", "outcome", "exit_code", "cwd", "duration_ms", "output_bytes")";

// An object that has these fields, those that are `required`, and no others.
Json object(std::initializer_list<std::string_view> fields, std::string_view required) {
  std::string text = R"({"type": "object", "additionalProperties": false, "properties": {)";
  for (const std::string_view field : fields) text += (text.ends_with('{') ? "" : ", ") + std::string(field);
  return Json::parse(text + "}, \"required\": [" + std::string(required) + "]}");
}

struct Row {
  const char *name, *title, *description;
  Json input, output;
  ToolHints hints;
  Handler* handler;
};

constexpr ToolHints kReads{.read_only = true, .idempotent = true};
// What happens in a sandbox stays there: it can be undone, forked and thrown away.
constexpr ToolHints kChanges{};
constexpr ToolHints kRuns{.destructive = true, .open_world = true};

std::vector<Row> command_rows() {
  return {
      {"run", "Run a command",
       "Runs a shell command in a sandbox and waits for its end. Directory, variables and functions stay for the next "
       "command of the same session. A command that fails is a normal result: look at exit_code. Of long output the "
       "beginning and the end are given. For servers and long builds use command_start.",
       object({kSandbox, kCommand, kMostOutput,
               R"("timeout_seconds": {"type": "number", "minimum": 0.1, "maximum": 3600, "description": "Usually 120"},
                  "stdin": {"type": "string", "maxLength": 4194304})"},
              R"("sandbox", "command")"),
       object({kOutcome, R"("output": {"type": "string"}, "truncated": {"type": "boolean"})"},
              std::string(kOutcomeNames) + R"(, "output", "truncated")"),
       kRuns, run_command},
      {"command_start", "Start a background command",
       "Starts a shell command and returns at once with its command_id, for command_read, command_write and "
       "command_kill.",
       object({kSandbox, kCommand,
               R"("stdin": {"type": "boolean", "description": "Keep its stdin open for command_write"})",
               R"("timeout_seconds": {"type": "number", "minimum": 0.1, "maximum": 86400,
                "description": "None if not given"})"},
              R"("sandbox", "command")"),
       object({kSandbox, kCommandId}, R"("sandbox", "command_id")"), kRuns, start_command},
      {"command_read", "Read a command's output",
       "Gives the output of a command from an offset on, and how it ended or that it runs. Go on from next_offset. "
       "With wait_seconds it waits that long for the command's end.",
       object({kSandbox, kCommandId, kMostOutput,
               R"("offset": {"type": "integer", "minimum": 0},
                  "wait_seconds": {"type": "number", "minimum": 0, "maximum": 600})"},
              R"("sandbox", "command_id")"),
       object({kOutcome, R"("output": {"type": "string"}, "next_offset": {"type": "integer"},
                            "more": {"type": "boolean", "description": "There is more already"})"},
              std::string(kOutcomeNames) + R"(, "output", "next_offset", "more")"),
       kReads, read_command},
      {"command_write", "Write to a command",
       "Writes to the stdin of a background command that was started with stdin. A line needs its newline. With close, "
       "its stdin ends after that.",
       object(
           {kSandbox, kCommandId, R"("text": {"type": "string", "maxLength": 1000000}, "close": {"type": "boolean"})"},
           R"("sandbox", "command_id")"),
       object({kSandbox, kCommandId, R"("bytes": {"type": "integer"})"}, R"("sandbox", "command_id", "bytes")"), kRuns,
       write_command},
      {"command_list", "List commands", "The last 200 commands of a sandbox and how they ended.",
       object({kSandbox}, R"("sandbox")"),
       object({R"("commands": {"type": "array", "items": {"type": "object"}}, "truncated": {"type": "boolean"})"},
              R"("commands", "truncated")"),
       kReads, list_commands},
      {"command_kill",
       "Kill a command",
       "Ends a command and every process that it started (TERM, then KILL), or sends its process group a signal.",
       object({kSandbox, kCommandId,
               R"("signal": {"type": "string", "maxLength": 20, "description": "Such as INT; without it all ends"})"},
              R"("sandbox", "command_id")"),
       object({kOutcome}, kOutcomeNames),
       {.destructive = true, .idempotent = true},
       kill_command},
  };
}

std::vector<Row> file_rows() {
  return {
      {"file_read", "Read a file", "Gives lines of a text file, 2000 from the first one unless told otherwise.",
       object({kSandbox, kPath,
               R"("start_line": {"type": "integer", "minimum": 1}, "max_lines": {"type": "integer", "minimum": 1})"},
              R"("sandbox", "path")"),
       object({R"("path": {"type": "string"}, "content": {"type": "string"}, "start_line": {"type": "integer"},
                  "end_line": {"type": "integer"}, "total_lines": {"type": "integer"}, "truncated": {"type": "boolean"})"},
              R"("path", "content", "start_line", "end_line", "total_lines", "truncated")"),
       kReads, read_file},
      {"file_write",
       "Write a file",
       "Makes a file, or replaces what is in it, at once or not at all. Directories that are missing are made.",
       object({kSandbox, kPath,
               R"("content": {"type": "string"}, "executable": {"type": "boolean", "description": "A new file is"})"},
              R"("sandbox", "path", "content")"),
       object({R"("path": {"type": "string"}, "bytes": {"type": "integer"})"}, R"("path", "bytes")"),
       {.destructive = true, .idempotent = true},
       write_file},
      {"file_edit",
       "Edit a file",
       "Replaces a piece of text in a file. old_text must match exactly, and once, unless replace_all is given.",
       object({kSandbox, kPath,
               R"("old_text": {"type": "string", "minLength": 1}, "new_text": {"type": "string"},
                  "replace_all": {"type": "boolean"})"},
              R"("sandbox", "path", "old_text", "new_text")"),
       object({R"("path": {"type": "string"}, "replacements": {"type": "integer"})"}, R"("path", "replacements")"),
       {.destructive = true},
       edit_file},
      {"file_list", "List a directory", "Names, types and sizes of what is in a directory, at most 1000.",
       object({kSandbox, kPath}, R"("sandbox")"),
       object({R"("path": {"type": "string"}, "truncated": {"type": "boolean"},
                  "entries": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"},
                    "type": {"type": "string", "enum": ["file", "directory", "symlink", "other"]},
                    "size": {"type": "integer"}, "modified_unix": {"type": "integer"}, "link_target": {"type": "string"}},
                    "required": ["name", "type", "size", "modified_unix"]}})"},
              R"("path", "entries", "truncated")"),
       kReads, list_files},
      {"file_search", "Search files",
       "Finds lines with a text, or files whose name matches a glob, below a directory. .git and binary files are left "
       "out.",
       object({kSandbox, kPath,
               R"("pattern": {"type": "string", "minLength": 1, "maxLength": 4096}, "regex": {"type": "boolean"},
                  "ignore_case": {"type": "boolean"},
                  "glob": {"type": "string", "minLength": 1, "maxLength": 255, "description": "Of file names: *.py"},
                  "max_matches": {"type": "integer", "minimum": 1, "maximum": 2000})"},
              R"("sandbox")"),
       object({R"("truncated": {"type": "boolean"},
                  "matches": {"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"},
                    "line": {"type": "integer"}, "text": {"type": "string"}}, "required": ["path"]}})"},
              R"("matches", "truncated")"),
       kReads, search_files},
  };
}

std::vector<Row> sandbox_rows() {
  return {
      {"sandbox_create", "Make a sandbox",
       "Makes a sandbox and gives its name, which every other tool takes. It ends with this server unless keep is set.",
       object({R"("name": {"type": "string", "minLength": 1, "maxLength": 63,
               "description": "One is made up if not given"},
                  "image": {"type": "string", "minLength": 1, "maxLength": 400,
                      "description": "A registry's image such as python:3.12, or 'host'"},
                  "from": {"type": "string", "minLength": 1, "maxLength": 63, "description": "Begin as this snapshot"},
                  "env": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 65536}},
                  "checkpoint": {"type": "boolean", "description": "Make each command undoable with sandbox_undo"},
                  "keep": {"type": "boolean", "description": "Keep the sandbox when this server ends"})"},
              ""),
       object({R"("sandbox": {"type": "string"}, "backend": {"type": "string"}, "kept": {"type": "boolean"},
                  "notes": {"type": "string"})"},
              R"("sandbox", "backend", "kept")"),
       kChanges, create_sandbox},
      {"sandbox_list", "List sandboxes", "Lists the sandboxes that you can use.", object({}, ""),
       object({R"("sandboxes": {"type": "array", "items": {"type": "object", "properties": {
                    "sandbox": {"type": "string"}, "state": {"type": "string", "enum": ["running", "stopped", "failed"]},
                    "backend": {"type": "string"}, "image": {"type": "string"}, "kept": {"type": "boolean"},
                    "created_unix": {"type": "integer"}}, "required": ["sandbox", "state", "backend"]}})"},
              R"("sandboxes")"),
       kReads, list_sandboxes},
      {"sandbox_fork", "Copy a sandbox",
       "Creates independent copies of a sandbox's files and sessions. Running commands are not "
       "copied.",
       object({kSandbox, R"("count": {"type": "integer", "minimum": 1, "maximum": 16})"}, R"("sandbox")"),
       object({R"("sandboxes": {"type": "array", "items": {"type": "string"}})"}, R"("sandboxes")"), kChanges,
       fork_sandbox},
      {"sandbox_snapshot", "Save a sandbox", "Saves files and sessions under a tag; sandbox_create can start from it.",
       object({kSandbox, R"("tag": {"type": "string", "minLength": 1, "maxLength": 63})"}, R"("sandbox", "tag")"),
       object({kSandbox, R"("tag": {"type": "string"})"}, R"("sandbox", "tag")"), kChanges, snapshot_sandbox},
      {"sandbox_diff", "What changed",
       "Shows changes of a sandbox's files since its creation, as a list and as a patch.",
       object({kSandbox, kPath, R"("patch": {"type": "boolean", "description": "false: only the list"})"},
              R"("sandbox")"),
       object({kSandbox, R"("changes": {"type": "array", "items": {"type": "object", "properties": {
                    "path": {"type": "string"}, "change": {"type": "string"}}, "required": ["path", "change"]}},
                  "patch": {"type": "string"}, "truncated": {"type": "boolean"})"},
              R"("sandbox", "changes", "patch", "truncated")"),
       kReads, diff_sandbox},
      {"sandbox_undo",
       "Undo commands",
       "Undoes the last commands: restores files and session. Requires a sandbox created with checkpoint.",
       object({kSandbox, R"("count": {"type": "integer", "minimum": 1, "maximum": 10000})"}, R"("sandbox")"),
       object({kSandbox, R"("undone": {"type": "integer"})"}, R"("sandbox", "undone")"),
       {.destructive = true},
       undo_sandbox},
      {"sandbox_stop",
       "End a sandbox",
       "Stops everything in a sandbox. Without keep the sandbox is removed; with keep it can be used again, unless "
       "remove is set.",
       object({kSandbox, R"("remove": {"type": "boolean"})"}, R"("sandbox")"),
       object({kSandbox, R"("stopped": {"type": "boolean"})"}, R"("sandbox", "stopped")"),
       {.destructive = true, .idempotent = true},
       stop_sandbox},
  };
}

}  // namespace

std::vector<Tool> make_tools(Sandboxes& sandboxes) {
  std::vector<Tool> tools;
  for (const auto& rows : {sandbox_rows(), command_rows(), file_rows()}) {
    for (const Row& row : rows) {
      tools.push_back({row.name, row.title, row.description, row.input, row.output, row.hints,
                       [&sandboxes, handler = row.handler](const Json& arguments, const ToolCall& call) {
                         return handler(sandboxes, arguments, call);
                       }});
    }
  }
  return tools;
}

std::string instructions() {
  return "Cove runs shell commands in sandboxes. Create one with sandbox_create and pass its name to every other tool. "
         "A session keeps directory, variables and functions from one command to the next. Nothing in a sandbox "
         "reaches "
         "the host's files. Before a risky step take a sandbox_snapshot or a sandbox_fork; sandbox_diff shows what "
         "changed.";
}

}  // namespace cove::mcp
