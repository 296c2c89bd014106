#pragma once

// What each tool does. They stand in the table of tools.cc, which says what they are called and what they take.

#include "mcp/sandboxes.h"
#include "mcp/tool.h"

namespace cove::mcp {

using Handler = Result<ToolResult>(Sandboxes& sandboxes, const Json& arguments, const ToolCall& call);

Handler run_command, start_command, read_command, write_command, list_commands, kill_command;        // command_tools.cc
Handler read_file, write_file, edit_file, list_files;                                                // file_tools.cc
Handler search_files;                                                                                // search_tool.cc
Handler create_sandbox, list_sandboxes, fork_sandbox, snapshot_sandbox, undo_sandbox, stop_sandbox;  // sandbox_tools.cc
Handler diff_sandbox;                                                                                // diff_tool.cc

}  // namespace cove::mcp
