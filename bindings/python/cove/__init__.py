"""Cove: sandboxes for shell commands, and a terminal tool for agents.

>>> from cove import Sandbox, terminal_tool, cleanup_vm
>>> with Sandbox(backend="native") as box:
...     box.sh("cd /tmp && export A=1")
...     print(box.sh("echo $A; pwd").output)
"""

from . import aio
from ._library import CoveError, Stop, version as __version__
from .aio import AsyncSandbox
from .sandbox import Chunk, Completed, FileInfo, Files, Process, Sandbox, remove, sandboxes
from .terminal import (
    cleanup_all_environments,
    cleanup_vm,
    clear_task_env_overrides,
    notifications,
    process_tool,
    register_task_env_overrides,
    terminal_tool,
)

__all__ = [
    "AsyncSandbox", "Chunk", "Completed", "CoveError", "FileInfo", "Files", "Process", "Sandbox", "Stop", "__version__",
    "aio", "cleanup_all_environments", "cleanup_vm", "clear_task_env_overrides", "notifications", "process_tool",
    "register_task_env_overrides", "remove", "sandboxes", "terminal_tool",
]
