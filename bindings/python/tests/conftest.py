"""A COVE_HOME of the tests' own, set before the library is loaded, and the check that nothing is left of it."""

import os
import shutil
import tempfile
import time
import uuid
from pathlib import Path

import pytest

# An engine that was started for the tests (cmake/engines.cmake): then it is what they are about.
BACKENDS = os.environ.get("COVE_TEST_BACKEND", "local native").split()
IMAGE = os.environ.get("COVE_IMAGE", "")
if "COVE_TEST_ENGINE" in os.environ:
    why_not = Path(os.environ["COVE_TEST_ENGINE"]) / "why-not"
    if why_not.exists():
        pytest.exit(f"skipped: {why_not.read_text().strip()}", returncode=77)

ROOT = Path(tempfile.mkdtemp(prefix="cove-python-"))
for name in list(os.environ):
    if name.startswith(("TERMINAL_", "COVE_")) and name not in ("COVE_LIBRARY", "COVE_PROGRAM", "COVE_GUEST"):
        del os.environ[name]
os.environ.update(COVE_HOME=str(ROOT / "state"), XDG_CONFIG_HOME=str(ROOT / "config"), HOME=str(ROOT / "home"))
(ROOT / "home").mkdir()

import cove  # noqa: E402


PATIENCE = 120  # seconds for what must happen; only a test that fails waits that long


def eventually(question):
    """Asks again until the answer is yes or patience is over; the last answer."""
    deadline = time.monotonic() + PATIENCE
    while not (answer := question()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


def to_timeout(call, ready):
    """Makes a call with a timeout that ends its command after `ready` holds: 1 s, and more on a slow machine."""
    for timeout in (1, 2, 4, 8, 16, 32, 64):
        done = call(timeout)
        if ready():
            return done, timeout
    raise AssertionError(f"the command was not ready in time: {done}")


def alive_with_home():
    """Processes of ours: keepers carry COVE_HOME in their environment."""
    mark = f"COVE_HOME={ROOT / 'state'}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append((int(entry.name), (entry / "cmdline").read_bytes()))
        except OSError:
            continue
    return found


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left():
    yield
    cove.cleanup_all_environments()
    eventually(lambda: not alive_with_home())
    left = alive_with_home()
    boxes = [box["name"] for box in cove.sandboxes() if not box["persistent"]]
    shutil.rmtree(ROOT, ignore_errors=True)
    assert not left and not boxes, (left, boxes)


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    monkeypatch.setenv("TERMINAL_ENV", request.param)
    if request.param in ("docker", "podman"):
        monkeypatch.setenv("TERMINAL_DOCKER_IMAGE", IMAGE)
        monkeypatch.setenv("TERMINAL_DOCKER_NETWORK", "false")  # these engines have none
    monkeypatch.setenv("TERMINAL_CONTAINER_PERSISTENT", "false")
    if request.param == "local":
        work = ROOT / "work" / uuid.uuid4().hex
        work.mkdir(parents=True)
        monkeypatch.setenv("TERMINAL_CWD", str(work))
    return request.param


@pytest.fixture
def native(monkeypatch):
    monkeypatch.setenv("COVE_BACKEND", "native")


@pytest.fixture
def task():
    name = f"test/{uuid.uuid4().hex}"
    yield name
    cove.cleanup_vm(name, remove=True)
