"""A class with the interface of Hermes Agent's execution environments, to be dropped in as one more backend."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Dict, Mapping, Optional, Sequence

from ._library import CoveError, Stop
from .sandbox import Sandbox


class CoveEnvironment:
    """``execute()`` gives ``{"output": text, "returncode": number}`` and, where the directory is known, ``cwd``.

    Output is whole and as it was printed: bounding, masking and stripping are the caller's. 124 is a timeout, 130 an
    interrupt, 126 a directory that is not there; the suffixes are the usual ones.
    """

    def __init__(
        self,
        image: str = "",
        cwd: str = "",
        timeout: int = 180,
        cpu: float = 0,
        memory: int = 0,
        disk: int = 0,
        persistent_filesystem: bool = False,
        task_id: str = "default",
        volumes: Optional[Sequence[str]] = None,
        forward_env: Optional[Sequence[str]] = None,
        env: Optional[Mapping[str, str]] = None,
        network: bool = True,
        host_cwd: Optional[str] = None,
        auto_mount_cwd: bool = False,
        backend: Optional[str] = None,
        **settings: Any,
    ) -> None:
        self.timeout = timeout
        self.task_id = task_id
        self.env: Dict[str, str] = dict(env or {})
        self.persistent = persistent_filesystem
        shown = list(volumes or [])
        if auto_mount_cwd and host_cwd:
            shown.append(f"{host_cwd}:/workspace")
        options: Dict[str, Any] = dict(
            backend=backend, image=image or None, cwd=cwd or None, cpus=cpu or None, memory=memory or None,
            disk=disk or None, volumes=shown, forward_env=forward_env, env=self.env, persistent=persistent_filesystem,
            **settings,
        )
        if backend != "local":
            contained = backend in ("docker", "podman")
            options["net"] = ("full,private" if contained else "full") if network else "none"
        self._sandbox: Optional[Sandbox] = self._find_or_make(options)
        self.cwd = cwd or self._sandbox.sh("pwd").output.strip()

    def _find_or_make(self, options: Dict[str, Any]) -> Sandbox:
        if not self.persistent:
            return Sandbox(**options)
        digest = hashlib.sha256(self.task_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        plain = re.sub(r"[^a-z0-9]+", "-", self.task_id.lower()).strip("-")[:32]
        name = f"hermes-{plain}-{digest}" if plain else f"hermes-{digest}"
        for get in (Sandbox.open, Sandbox.restart):
            try:
                return get(name)
            except CoveError as error:
                if error.code not in ("not_found", "disconnected", "conflict"):
                    raise
        return Sandbox(name=name, **options)

    def execute(
        self,
        command: str,
        cwd: str = "",
        *,
        timeout: Optional[int] = None,
        stdin_data: Optional[str] = None,
        stop: Optional[Stop] = None,
        **_ignored: Any,
    ) -> Dict[str, Any]:
        if self._sandbox is None:
            raise RuntimeError("the environment was cleaned up")
        limit = timeout or self.timeout
        done = self._sandbox.sh(command, cwd=cwd or None, timeout=limit, stdin=stdin_data, stop=stop)
        output = done.output or done.details.get("problem", "")
        suffix = {"timeout": f"[Command timed out after {limit:g}s]", "interrupted": "[Command interrupted]"}.get(done.outcome)
        if suffix:
            output = f"{output}\n{suffix}" if output else suffix
        result: Dict[str, Any] = {"output": output, "returncode": done.exit_code}
        if done.cwd and not cwd:
            self.cwd = done.cwd
            result.update(cwd=done.cwd, cwd_observed=True)
        return result

    def cleanup(self) -> None:
        """Ends the sandbox; the files of a persistent one stay. Again does nothing."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is None:
            return
        try:
            if self.persistent:
                sandbox.stop()
        except CoveError:
            pass
        finally:
            sandbox.close()

    stop = cleanup

    def __enter__(self) -> "CoveEnvironment":
        return self

    def __exit__(self, *_: Any) -> None:
        self.cleanup()

