"""libcove by ctypes: texts in and out, hooks, errors. Everything else here stands on this module."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

ABI = 1

#: How often a caller's watchdog hears that its command still runs.
ACTIVITY_SECONDS = 10


class CoveError(Exception):
    """Cove itself could not do what was asked. A command that exits with 1 is no error.

    ``code`` is named after what to do next: invalid, not_found, conflict, denied, unsupported, busy, timeout,
    cancelled, disconnected, protocol, internal.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


_Output = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_Tick = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Approve = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)

#: Asked when a person must decide: (command, why) -> True, False, or how long a yes counts: "once", "session", "always".
Approve = Callable[[str, str], Union[bool, str]]
_ANSWERS: Dict[Any, int] = {True: 1, "once": 1, "session": 2, "always": 3}


class Hooks(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("user", ctypes.c_void_p),
        ("stop", ctypes.c_void_p),
        ("output", _Output),
        ("tick", _Tick),
        ("tick_ms", ctypes.c_uint32),
        ("approve", _Approve),
    ]


def _candidates() -> List[str]:
    here = Path(__file__).resolve().parent
    found = [os.environ.get("COVE_LIBRARY", ""), str(here / "_programs" / "libcove.so")]
    # A checkout: bindings/python/cove beside build/.
    if len(here.parents) > 2:
        found += [str(here.parents[2] / "build" / "libcove.so"), str(here.parents[2] / "build" / "dev" / "bin" / "libcove.so")]
    found.append(ctypes.util.find_library("cove") or "")
    return [path for path in found if path]


def _load() -> ctypes.CDLL:
    tried = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
            continue
        if library.cove_abi() < ABI:
            tried.append(f"{path}: speaks ABI {library.cove_abi()}, {ABI} is needed")
            continue
        return _declare(library)
    raise ImportError("libcove.so was not found: install the wheel, or set COVE_LIBRARY to its path\n" + "\n".join(tried))


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    text, handle, hooks = ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(Hooks)
    # Answers are freed by us, so they must stay pointers.
    answer = ctypes.c_void_p
    signatures: Dict[str, Tuple[Any, List[Any]]] = {
        "cove_version": (text, []),
        "cove_free": (None, [answer]),
        "cove_stop_new": (handle, []),
        "cove_stop_request": (None, [handle]),
        "cove_stop_free": (None, [handle]),
        "cove_terminal": (answer, [text, hooks]),
        "cove_terminal_process": (answer, [text, hooks]),
        "cove_terminal_notifications": (answer, [ctypes.c_uint32]),
        "cove_terminal_cleanup": (answer, [text]),
        "cove_terminal_overrides": (answer, [text]),
        "cove_terminal_cleanup_all": (None, []),
        "cove_sandbox_get": (answer, [text, hooks, ctypes.POINTER(handle)]),
        "cove_sandbox_close": (None, [handle]),
        "cove_sandbox_call": (answer, [handle, text, ctypes.c_char_p, ctypes.c_size_t, hooks]),
        "cove_sandbox_fork": (answer, [handle, ctypes.c_size_t, hooks, ctypes.POINTER(handle)]),
        "cove_sandboxes": (answer, []),
        "cove_sandbox_remove": (answer, [text]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


library = _load()
version: str = library.cove_version().decode()


def take_text(answer: int) -> str:
    """The answer's text; what the library gave for it is freed."""
    try:
        return ctypes.string_at(answer).decode("utf-8", "replace")
    finally:
        library.cove_free(answer)


def take(answer: int) -> Any:
    """The answer's value; a failure is raised."""
    value = json.loads(take_text(answer))
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, dict) and "code" in error:
        raise CoveError(error["code"], error["message"])
    return value


def encode(request: Dict[str, Any]) -> bytes:
    return json.dumps(request, ensure_ascii=True, separators=(",", ":")).encode()


class Stop:
    """Stops the calls that it was given to, from any thread: a command is interrupted, a wait ends."""

    def __init__(self) -> None:
        self._handle: Optional[int] = library.cove_stop_new()

    def request(self) -> None:
        library.cove_stop_request(self._handle)

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            library.cove_stop_free(handle)


class Call:
    """The hooks of one call, as long as it lasts: ``with Call() as hooks: library.f(..., hooks)``.

    A call blocks in the library, where Python cannot see Ctrl-C. In the main thread a tick gives it the chance: what a
    signal handler raises stops the call, and is raised again when it has ended. So is what ``output`` raises. A handler
    runs before a callback's first line, too early to be caught there: Python calls that unraisable, and says so to
    a hook.
    """

    def __init__(
        self,
        output: Optional[Callable[[int, bytes], None]] = None,
        stop: Optional[Stop] = None,
        approve: Optional[Approve] = None,
        activity: Optional[Callable[[], None]] = None,
    ) -> None:
        self.raised: Optional[BaseException] = None
        in_main = threading.current_thread() is threading.main_thread()
        if stop is None and (output is not None or in_main):
            stop = Stop()
        self.stop = stop
        self._in_main = in_main
        self.hooks = Hooks(size=ctypes.sizeof(Hooks))
        if stop is not None:
            self.hooks.stop = stop._handle
        if output is not None:
            self._output = output
            self.hooks.output = _Output(self._on_output)
        self._activity = activity
        self._told = time.monotonic()
        if in_main or activity is not None:
            self.hooks.tick = _Tick(self._on_tick)
            self.hooks.tick_ms = 100 if in_main else 10_000
        if approve is not None:
            self._approve = approve
            self.hooks.approve = _Approve(self._on_approve)

    def __enter__(self) -> Any:
        if self._in_main:
            self._unraisable = sys.unraisablehook
            sys.unraisablehook = self._on_unraisable
        return ctypes.byref(self.hooks)

    def __exit__(self, *_: Any) -> None:
        """Raises what was raised in a callback. The callbacks hold this object: they are let go of."""
        if self._in_main:
            sys.unraisablehook = self._unraisable
        raised, self.raised = self.raised, None
        self.hooks = Hooks()
        if raised is not None:
            raise raised

    def _on_unraisable(self, what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            self._failed(what.exc_value or KeyboardInterrupt())
        else:
            self._unraisable(what)

    def _failed(self, error: BaseException) -> None:
        if self.raised is None:
            self.raised = error
        if self.stop is not None:
            self.stop.request()

    def _on_output(self, _user: int, stream: int, bytes_at: int, size: int) -> None:
        if self.raised is not None:
            return
        try:
            self._output(stream, ctypes.string_at(bytes_at, size))
        except BaseException as error:  # noqa: B902 - it is raised again by finish()
            self._failed(error)

    def _on_tick(self, _user: int) -> None:
        try:
            if self._activity is not None and time.monotonic() - self._told >= ACTIVITY_SECONDS - 0.05:
                self._told = time.monotonic()
                try:
                    self._activity()
                except Exception:  # a caller's watchdog must not end its command
                    pass
        except BaseException as error:  # noqa: B902
            self._failed(error)

    def _on_approve(self, _user: int, command: bytes, why: bytes) -> int:
        try:
            return _ANSWERS.get(self._approve(command.decode("utf-8", "replace"), why.decode("utf-8", "replace")), 0)
        except BaseException as error:  # noqa: B902
            self._failed(error)
            return 0
