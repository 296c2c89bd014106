"""The terminal tool of an agent: one call, one JSON text."""

from __future__ import annotations

import atexit
import json
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from ._library import Approve, Call, Stop, encode, library, take_text


def terminal_tool(
    command: str,
    background: bool = False,
    timeout: Optional[float] = None,
    task_id: Optional[str] = None,
    force: bool = False,
    workdir: Optional[str] = None,
    pty: bool = False,
    notify_on_complete: bool = False,
    watch_patterns: Optional[Sequence[str]] = None,
    *,
    notify: Union[bool, Sequence[str], None] = None,
    stdin: Optional[str] = None,
    open_stdin: bool = False,
    rows: Optional[int] = None,
    columns: Optional[int] = None,
    overrides: Optional[Dict[str, Any]] = None,
    approve: Optional[Approve] = None,
    activity: Optional[Callable[[], None]] = None,
    stop: Optional[Stop] = None,
    **ignored: Any,
) -> str:
    """Runs shell text in the sandbox of ``task_id``, which is made when it is first used.

    The answer is a JSON object: ``output``, ``exit_code``, ``error`` and, where they apply, ``status`` (error, blocked,
    degraded, disabled: nothing was run), ``cwd``, ``session_id``, ``pid``, ``output_total_chars``,
    ``full_output_path``, ``truncation_note``, ``exit_code_meaning``, ``hint``, ``environment_recreated``.
    Never raises for what a command or a sandbox does. Ctrl-C interrupts the command, and is raised.
    """
    request: Dict[str, Any] = {"command": command}
    if task_id is not None:
        request["task_id"] = task_id
    if background:
        request["background"] = background
    if timeout is not None:
        request["timeout"] = timeout
    if force:
        request["force"] = force
    if workdir is not None:
        request["workdir"] = workdir
    if pty:
        request["pty"] = pty
    if notify_on_complete:
        request["notify_on_complete"] = notify_on_complete
    if watch_patterns is not None:
        request["watch_patterns"] = watch_patterns
    for key, value in (("notify", notify), ("stdin", stdin), ("rows", rows), ("columns", columns), ("overrides", overrides)):
        if value is not None:
            request[key] = value
    if open_stdin:
        request["open_stdin"] = True
    if "code" in ignored:
        request["code"] = True
    try:
        text = encode(request)
    except (TypeError, ValueError) as error:
        message = f"Invalid request: {error}"
        return json.dumps({"output": "", "exit_code": -1, "error": message, "status": "error"})
    with Call(stop=stop, approve=approve, activity=activity) as hooks:
        return take_text(library.cove_terminal(text, hooks))


def process_tool(
    action: str,
    session_id: Optional[str] = None,
    *,
    data: Optional[str] = None,
    timeout: Optional[float] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
    task_id: Optional[str] = None,
    patterns: Optional[Sequence[str]] = None,
    stop: Optional[Stop] = None,
) -> str:
    """Background commands: list, poll, log, wait, kill, write, submit, close, watch. The answer is a JSON object."""
    request = {
        "action": action, "session_id": session_id, "data": data, "timeout": timeout, "offset": offset, "limit": limit,
        "task_id": task_id, "patterns": None if patterns is None else list(patterns),
    }
    text = encode({key: value for key, value in request.items() if value is not None})
    with Call(stop=stop) as hooks:
        return take_text(library.cove_terminal_process(text, hooks))


def notifications(wait: float = 0.0) -> List[Dict[str, Any]]:
    """What background commands have told since the last time: completions and pattern matches."""
    return list(json.loads(take_text(library.cove_terminal_notifications(int(wait * 1000)))))


def cleanup_vm(task_id: str, remove: bool = False) -> None:
    """Ends the sandbox of a task. The files of a persistent one stay, unless ``remove``. Never raises; again is fine."""
    take_text(library.cove_terminal_cleanup(encode({"task_id": task_id, "remove": remove})))


def cleanup_all_environments() -> None:
    """Ends the sandboxes of all tasks of this process. Runs at exit, too."""
    library.cove_terminal_cleanup_all()


def register_task_env_overrides(task_id: str, overrides: Dict[str, Any]) -> None:
    """Backend, image, directory, limits of one task's sandbox, for when it is made."""
    _set_overrides(task_id, overrides)


def clear_task_env_overrides(task_id: str) -> None:
    _set_overrides(task_id, None)


def _set_overrides(task_id: str, overrides: Optional[Dict[str, Any]]) -> None:
    answer = json.loads(take_text(library.cove_terminal_overrides(encode({"task_id": task_id, "overrides": overrides}))))
    if answer["status"] != "ok":
        raise ValueError(answer["error"])


atexit.register(cleanup_all_environments)
