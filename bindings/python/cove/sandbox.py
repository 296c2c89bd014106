"""Sandboxes: places where commands run, with sessions, files, forks and snapshots."""

from __future__ import annotations

import codecs
import ctypes
import json
import queue
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._library import Call, CoveError, Stop, encode, library, take

Data = Union[bytes, bytearray, memoryview, str]


def _bytes(data: Data) -> bytes:
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)


@dataclass(frozen=True)
class Completed:
    """A command that ended, with all of its output."""

    output: str
    exit_code: int
    outcome: str  #: exited, signaled, timeout, interrupted, oom or lost
    cwd: str = ""
    id: str = ""
    raw: bytes = b""  #: the output's bytes
    stderr: str = ""  #: with ``split=True``
    duration_ms: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.outcome == "exited" and self.exit_code == 0


@dataclass(frozen=True)
class Chunk:
    """A piece of a command's output, as it came."""

    text: str
    raw: bytes
    stream: int  #: 1, or 2 for stderr with ``split=True``


@dataclass(frozen=True)
class FileInfo:
    name: str
    type: str  #: file, directory, symlink or other
    size: int
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    link_target: str = ""


class Files:
    """A sandbox's files. Relative paths start at its own directory."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox

    def read(self, path: str) -> bytes:
        parts: List[bytes] = []
        self._sandbox._ask({"verb": "read_file", "path": path}, output=lambda _stream, data: parts.append(data))
        return b"".join(parts)

    def read_text(self, path: str, encoding: str = "utf-8") -> str:
        return self.read(path).decode(encoding)

    def write(self, path: str, data: Data, mode: int = 0o644) -> None:
        """Replaces the file at once, or not at all."""
        self._sandbox._ask({"verb": "write_file", "path": path, "mode": mode}, data=_bytes(data))

    def list(self, path: str) -> List[FileInfo]:
        return [FileInfo(**entry) for entry in self._sandbox._ask({"verb": "list_files", "path": path})]

    def stat(self, path: str) -> FileInfo:
        return FileInfo(**self._sandbox._ask({"verb": "stat_file", "path": path}))

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
            return True
        except CoveError as error:
            if error.code == "not_found":
                return False
            raise

    def make_directory(self, path: str) -> None:
        self._sandbox._ask({"verb": "make_directory", "path": path})

    def move(self, source: str, target: str) -> None:
        self._sandbox._ask({"verb": "move_file", "from": source, "to": target})

    def remove(self, path: str) -> None:
        self._sandbox._ask({"verb": "remove_file", "path": path})

    def copy_in(self, host: str, inside: str) -> List[str]:
        """Files and directories; what a copy does not carry comes back, a sentence each."""
        return list(self._sandbox._ask({"verb": "copy_in", "from": host, "to": inside})["skipped"])

    def copy_out(self, inside: str, host: str) -> List[str]:
        return list(self._sandbox._ask({"verb": "copy_out", "from": inside, "to": host})["skipped"])


class Process:
    """A command that runs in the background. Its sandbox holds it: another process finds it by its id."""

    def __init__(self, sandbox: "Sandbox", id: str) -> None:
        self.sandbox = sandbox
        self.id = id

    def poll(self) -> Optional[int]:
        """Its exit code; None while it runs."""
        code = self.status()["exit_code"]
        return None if code is None else int(code)

    def status(self) -> Dict[str, Any]:
        return dict(self.sandbox._ask({"verb": "status", "id": self.id}))

    def wait(self, stop: Optional[Stop] = None) -> Completed:
        """Until it ends; with all of its output. A stop ends the waiting, not the command."""
        return self.sandbox._collect({"verb": "attach", "id": self.id}, stop=stop)

    def read(self, offset: int = 0) -> bytes:
        """What it has printed so far, from an offset."""
        parts: List[bytes] = []
        request = {"verb": "attach", "id": self.id, "from": offset, "follow": False}
        self.sandbox._ask(request, output=lambda _stream, data: parts.append(data))
        return b"".join(parts)

    def write(self, data: Data) -> None:
        """To its stdin; it must have been started with ``open_stdin=True`` or a pty."""
        self.sandbox._ask({"verb": "feed", "id": self.id}, data=_bytes(data))

    def close_stdin(self) -> None:
        self.sandbox._ask({"verb": "feed", "id": self.id, "eof": True}, data=b"")

    def signal(self, number: int) -> None:
        self.sandbox._ask({"verb": "signal", "id": self.id, "signal": number})

    def kill(self, grace: float = 2.0) -> None:
        """Ends it with everything it started: TERM, and KILL after the grace."""
        self.sandbox._ask({"verb": "signal", "id": self.id, "signal": 0, "grace_ms": int(grace * 1000)})


class Sandbox:
    """One place where commands run.

    >>> with Sandbox(backend="native") as box:
    ...     box.sh("cd /tmp && export A=1")
    ...     print(box.sh("echo $A; pwd").output)

    It ends with this object, with the ``with`` block, or with this process, also by ``kill -9``; unless it is
    ``persistent`` (then it is stopped, and ``Sandbox.restart(name)`` goes on) or ``owned=False``.
    """

    def __init__(
        self,
        backend: Optional[str] = None,
        image: Optional[str] = None,
        *,
        name: Optional[str] = None,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        forward_env: Optional[Sequence[str]] = None,
        volumes: Optional[Sequence[str]] = None,
        net: Optional[str] = None,
        memory: Union[str, int, None] = None,
        disk: Union[str, int, None] = None,
        cpus: Optional[float] = None,
        pids: Optional[int] = None,
        timeout: Union[str, float, None] = None,
        idle_timeout: Union[str, float, None] = None,
        persistent: bool = False,
        owned: Optional[bool] = None,
        snapshot: Optional[str] = None,
        checkpoint: bool = False,
        login: bool = True,
        **settings: Any,
    ) -> None:
        """What is not said is as configured (config.toml, COVE_*). ``memory`` and ``disk``: "512m", or megabytes."""
        request: Dict[str, Any] = {
            "verb": "create", "backend": backend, "image": image, "name": name, "cwd": cwd, "net": net, "memory": memory,
            "disk": disk, "cpus": cpus, "pids": pids, "timeout": timeout, "idle_timeout": idle_timeout,
            "persistent": persistent or None, "owned": owned, "from": snapshot, "checkpoint": checkpoint or None,
            "login": None if login else False, **settings,
        }
        if env:
            request["env"] = dict(env)
        if forward_env:
            request["forward_env"] = list(forward_env)
        if volumes:
            request["volumes"] = list(volumes)
        self._setup(*_get({key: value for key, value in request.items() if value is not None}))

    @classmethod
    def open(cls, name: str) -> "Sandbox":
        """One that exists and runs; closing this object leaves it running."""
        return cls._from_handle(*_get({"verb": "open", "name": name}))

    @classmethod
    def restart(cls, name: str) -> "Sandbox":
        """A persistent one that was stopped."""
        return cls._from_handle(*_get({"verb": "restart", "name": name}))

    @classmethod
    def _from_handle(cls, handle: int, about: Mapping[str, Any]) -> "Sandbox":
        sandbox = cls.__new__(cls)
        sandbox._setup(handle, about)
        return sandbox

    def _setup(self, handle: int, about: Mapping[str, Any]) -> None:
        self._handle: Optional[int] = handle
        self.name: str = about["name"]
        self.notes: str = about.get("notes", "")
        self.files = Files(self)

    # --- commands -----------------------------------------------------------------------------------------------

    def sh(
        self,
        script: str,
        *,
        timeout: Optional[float] = None,
        cwd: Optional[str] = None,
        session: Optional[str] = None,
        stdin: Optional[Data] = None,
        split: bool = False,
        pty: bool = False,
        id: Optional[str] = None,
        output: Optional[Callable[[int, bytes], None]] = None,
        stop: Optional[Stop] = None,
    ) -> Completed:
        """Runs shell text in a session, whose directory, variables and functions stay for the next one."""
        request = _command(script=script, timeout=timeout, cwd=cwd, session=session, split=split, pty=pty, id=id)
        return self._run(request, stdin, output, stop)

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout: Optional[float] = None,
        cwd: Optional[str] = None,
        user: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Optional[Data] = None,
        split: bool = False,
        output: Optional[Callable[[int, bytes], None]] = None,
        stop: Optional[Stop] = None,
    ) -> Completed:
        """Runs a program, without a shell and without a session."""
        words = [f"{key}={value}" for key, value in (env or {}).items()]
        request = _command(argv=list(argv), timeout=timeout, cwd=cwd, user=user, env=words or None, split=split)
        return self._run(request, stdin, output, stop)

    def stream(self, script: str, *, stop: Optional[Stop] = None, **options: Any) -> Iterator[Chunk]:
        """Output as it comes. A loop that is left early interrupts the command. The iterator returns the Completed."""
        return _stream(self, script, stop or Stop(), options)

    def start(
        self,
        script: str,
        *,
        cwd: Optional[str] = None,
        timeout: Optional[float] = None,
        session: Optional[str] = None,
        pty: bool = False,
        rows: int = 24,
        columns: int = 80,
        open_stdin: bool = False,
        id: Optional[str] = None,
    ) -> Process:
        """In the background. It begins as its session is, and leaves that as it was."""
        request = _command(script=script, cwd=cwd, timeout=timeout, session=session, pty=pty, id=id)
        request.update(verb="start", rows=rows, columns=columns, open_stdin=open_stdin or pty, apart=True)
        return Process(self, self._ask(request)["id"])

    def process(self, id: str) -> Process:
        """One that was started before, by whomever."""
        return Process(self, id)

    def commands(self) -> List[Dict[str, Any]]:
        return list(self._ask({"verb": "list"}))

    # --- the sandbox as a whole ---------------------------------------------------------------------------------

    def inspect(self) -> Dict[str, Any]:
        return dict(self._ask({"verb": "inspect"}))

    def fork(self, count: int = 1) -> List["Sandbox"]:
        """Copies that go their own ways from here: files and sessions, not what runs."""
        handles = (ctypes.c_void_p * count)()
        with Call() as hooks:
            names = take(library.cove_sandbox_fork(self._open_handle(), count, hooks, handles))["names"]
        return [Sandbox._from_handle(handles[at], {"name": name}) for at, name in enumerate(names)]

    def snapshot(self, tag: str) -> Dict[str, Any]:
        """Saves files and sessions under a tag, for ``restore`` and ``Sandbox(snapshot=tag)``."""
        return dict(self._ask({"verb": "snapshot", "tag": tag}))

    def restore(self, tag: str) -> None:
        self._ask({"verb": "restore", "tag": tag})

    def undo(self, count: int = 1) -> None:
        """Back to before the last commands; needs ``checkpoint=True``."""
        self._ask({"verb": "undo", "count": count})

    def history(self) -> Any:
        return self._ask({"verb": "history"})

    def pause(self) -> None:
        self._ask({"verb": "pause"})

    def resume(self) -> None:
        self._ask({"verb": "resume"})

    def stop(self, remove: bool = False) -> None:
        """Ends it; ``remove`` also forgets what a persistent one keeps."""
        self._ask({"verb": "stop", "remove": remove})

    def close(self) -> None:
        """Ends an owned sandbox, and lets go of any. Again does nothing."""
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            library.cove_sandbox_close(handle)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cove.Sandbox {self.name}{'' if self._handle else ' (closed)'}>"

    # --- beneath ------------------------------------------------------------------------------------------------

    def _open_handle(self) -> int:
        if self._handle is None:
            raise CoveError("invalid", f"sandbox {self.name} was closed")
        return self._handle

    def _ask(
        self,
        request: Dict[str, Any],
        data: Optional[bytes] = None,
        output: Optional[Callable[[int, bytes], None]] = None,
        stop: Optional[Stop] = None,
    ) -> Any:
        size = 0 if data is None else len(data)
        with Call(output=output, stop=stop) as hooks:
            return take(library.cove_sandbox_call(self._open_handle(), encode(request), data, size, hooks))

    def _run(
        self,
        request: Dict[str, Any],
        stdin: Optional[Data],
        output: Optional[Callable[[int, bytes], None]],
        stop: Optional[Stop],
    ) -> Completed:
        request["stdin"] = stdin is not None
        return self._collect(request, None if stdin is None else _bytes(stdin), output, stop)

    def _collect(
        self,
        request: Dict[str, Any],
        data: Optional[bytes] = None,
        output: Optional[Callable[[int, bytes], None]] = None,
        stop: Optional[Stop] = None,
    ) -> Completed:
        parts: Dict[int, List[bytes]] = {1: [], 2: []}

        def gather(stream: int, piece: bytes) -> None:
            parts[stream].append(piece)
            if output is not None:
                output(stream, piece)

        outcome = self._ask(request, data, gather, stop)
        raw = b"".join(parts[1])
        return Completed(
            output=raw.decode("utf-8", "replace"),
            exit_code=outcome["exit_code"] if outcome["exit_code"] is not None else -1,
            outcome=outcome["outcome"],
            cwd=outcome["cwd"],
            id=outcome["id"],
            raw=raw,
            stderr=b"".join(parts[2]).decode("utf-8", "replace"),
            duration_ms=outcome["duration_ms"],
            details=outcome,
        )


def _command(**options: Any) -> Dict[str, Any]:
    return {"verb": "run", **{key: value for key, value in options.items() if value not in (None, False)}}


def _get(request: Dict[str, Any]) -> Any:
    handle = ctypes.c_void_p()
    with Call() as hooks:
        about = take(library.cove_sandbox_get(encode(request), hooks, ctypes.byref(handle)))
    return handle.value, about


_END = object()


def _stream(box: Sandbox, script: str, stop: Stop, options: Dict[str, Any]) -> Iterator[Chunk]:
    pieces: "queue.Queue[Any]" = queue.Queue(maxsize=256)

    def work() -> None:
        try:
            done: Any = box.sh(script, output=lambda stream, data: pieces.put((stream, data)), stop=stop, **options)
        except BaseException as error:  # noqa: B902 - it is raised in the loop's thread
            done = error
        pieces.put((_END, done))

    worker = threading.Thread(target=work, name="cove-stream", daemon=True)
    worker.start()
    decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in (1, 2)}
    ended = False
    try:
        while True:
            stream, piece = pieces.get()
            if stream is _END:
                ended = True
                for number, decoder in decoders.items():
                    rest = decoder.decode(b"", True)
                    if rest:
                        yield Chunk(rest, b"", number)
                if isinstance(piece, BaseException):
                    raise piece
                return piece
            yield Chunk(decoders[stream].decode(piece), piece, stream)
    finally:
        if not ended:
            stop.request()
            while pieces.get()[0] is not _END:
                pass
        worker.join()


def sandboxes() -> List[Dict[str, Any]]:
    """All of this user's."""
    return list(take(library.cove_sandboxes()))


def remove(name: str) -> None:
    """Ends a sandbox, if it runs, and forgets everything about it."""
    take(library.cove_sandbox_remove(json.dumps({"name": name}).encode()))
