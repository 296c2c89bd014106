"""The same for asyncio. A task that is cancelled interrupts its command."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
from typing import Any, AsyncIterator, Callable, List, Optional, Sequence, TypeVar

from . import sandbox as _sync
from . import terminal as _terminal
from ._library import Stop

T = TypeVar("T")

#: Threads wait in the library while commands run; they cost memory, not processor.
_threads = concurrent.futures.ThreadPoolExecutor(max_workers=512, thread_name_prefix="cove")


async def _call(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, functools.partial(function, *args, **kwargs))


async def _stoppable(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    stop = Stop()
    work = asyncio.ensure_future(_call(function, *args, stop=stop, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.request()
        # The command is over when this returns, not some time later.
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()
        raise


async def terminal_tool(command: str, *args: Any, **kwargs: Any) -> str:
    return await _stoppable(_terminal.terminal_tool, command, *args, **kwargs)


async def process_tool(action: str, session_id: Optional[str] = None, **kwargs: Any) -> str:
    return await _stoppable(_terminal.process_tool, action, session_id, **kwargs)


async def cleanup_vm(task_id: str, remove: bool = False) -> None:
    await _call(_terminal.cleanup_vm, task_id, remove)


class Files:
    def __init__(self, files: _sync.Files) -> None:
        self._files = files

    async def read(self, path: str) -> bytes:
        return await _call(self._files.read, path)

    async def read_text(self, path: str, encoding: str = "utf-8") -> str:
        return await _call(self._files.read_text, path, encoding)

    async def write(self, path: str, data: _sync.Data, mode: int = 0o644) -> None:
        await _call(self._files.write, path, data, mode)

    async def list(self, path: str) -> List[_sync.FileInfo]:
        return await _call(self._files.list, path)

    async def stat(self, path: str) -> _sync.FileInfo:
        return await _call(self._files.stat, path)

    async def exists(self, path: str) -> bool:
        return await _call(self._files.exists, path)

    async def make_directory(self, path: str) -> None:
        await _call(self._files.make_directory, path)

    async def move(self, source: str, target: str) -> None:
        await _call(self._files.move, source, target)

    async def remove(self, path: str) -> None:
        await _call(self._files.remove, path)

    async def copy_in(self, host: str, inside: str) -> List[str]:
        return await _call(self._files.copy_in, host, inside)

    async def copy_out(self, inside: str, host: str) -> List[str]:
        return await _call(self._files.copy_out, inside, host)


class AsyncSandbox:
    """``async with await AsyncSandbox.create(backend="native") as box: await box.sh("make")``"""

    def __init__(self, box: _sync.Sandbox) -> None:
        self.sync = box
        self.name = box.name
        self.files = Files(box.files)

    @classmethod
    async def create(cls, *args: Any, **kwargs: Any) -> "AsyncSandbox":
        return cls(await _call(_sync.Sandbox, *args, **kwargs))

    @classmethod
    async def open(cls, name: str) -> "AsyncSandbox":
        return cls(await _call(_sync.Sandbox.open, name))

    @classmethod
    async def restart(cls, name: str) -> "AsyncSandbox":
        return cls(await _call(_sync.Sandbox.restart, name))

    async def sh(self, script: str, **options: Any) -> _sync.Completed:
        return await _stoppable(self.sync.sh, script, **options)

    async def exec(self, argv: Sequence[str], **options: Any) -> _sync.Completed:
        return await _stoppable(self.sync.exec, argv, **options)

    async def stream(self, script: str, **options: Any) -> AsyncIterator[_sync.Chunk]:
        pieces = self.sync.stream(script, **options)
        end = object()
        try:
            while True:
                piece = await _call(next, pieces, end)
                if piece is end:
                    return
                yield piece  # type: ignore[misc]
        finally:
            await asyncio.shield(_call(pieces.close))  # type: ignore[attr-defined]

    async def start(self, script: str, **options: Any) -> _sync.Process:
        return await _call(self.sync.start, script, **options)

    async def wait(self, process: _sync.Process) -> _sync.Completed:
        return await _stoppable(process.wait)

    async def fork(self, count: int = 1) -> List["AsyncSandbox"]:
        return [AsyncSandbox(box) for box in await _call(self.sync.fork, count)]

    async def snapshot(self, tag: str) -> Any:
        return await _call(self.sync.snapshot, tag)

    async def restore(self, tag: str) -> None:
        await _call(self.sync.restore, tag)

    async def undo(self, count: int = 1) -> None:
        await _call(self.sync.undo, count)

    async def inspect(self) -> Any:
        return await _call(self.sync.inspect)

    async def stop(self, remove: bool = False) -> None:
        await _call(self.sync.stop, remove)

    async def close(self) -> None:
        await _call(self.sync.close)

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await asyncio.shield(self.close())
