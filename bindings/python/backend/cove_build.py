"""Builds the wheel and the sdist with nothing but Python: PEP 517, and `python3 cove_build.py DIRECTORY`.

The wheel has libcove.so and the programs inside: from $COVE_PROGRAMS, else from build/ of this checkout. Its tag says which
C library they need, so that pip refuses it where they would not start. Both archives are the same, byte for byte, when
their content is.
"""

import base64
import gzip
import hashlib
import io
import os
import platform
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PROGRAMS = ("libcove.so", "cove", "cove-guest", "cove-image", "cove-attempt", "cove-mcp")
NAME = "cove"
WHEN = (2026, 1, 1, 0, 0, 0)
LAUNCHER = b"""#!python
# Becomes the program that the package cove brings. The package itself is found, not loaded.
import importlib.util
import os
import sys

folder = os.path.dirname(importlib.util.find_spec("cove").origin)
os.execv(os.path.join(folder, "_programs", "cove"), ["cove", *sys.argv[1:]])
"""


def _version():
    for line in (HERE / "pyproject.toml").read_text().splitlines():
        if line.startswith("version"):
            return line.split('"')[1]
    raise RuntimeError("pyproject.toml has no version")


def _metadata():
    return (
        f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {_version()}\n"
        "Summary: Sandboxes for shell commands, and a terminal tool for agents\nRequires-Python: >=3.9\n"
        "Description-Content-Type: text/markdown\n\n" + (HERE / "README.md").read_text()
    ).encode()


def _sources():
    return sorted(path for path in (HERE / NAME).iterdir() if path.suffix == ".py" or path.name == "py.typed")


def _programs():
    folder = Path(os.environ.get("COVE_PROGRAMS") or HERE.parent.parent / "build")
    missing = [name for name in PROGRAMS[:3] if not (folder / name).exists()]
    if missing:
        raise RuntimeError(f"{folder} has no {', '.join(missing)}: run 'make python', or set COVE_PROGRAMS")
    return [folder / name for name in PROGRAMS if (folder / name).exists()]


def _is_dynamic(program):
    """Whether an ELF file of 64 bits has a segment PT_DYNAMIC: the others need no C library."""
    start, size, count = (int.from_bytes(program[at:at + n], "little") for at, n in ((32, 8), (54, 2), (56, 2)))
    return 2 in (int.from_bytes(program[start + i * size:][:4], "little") for i in range(count))


def _platform(programs):
    """The tag of PEP 600 for the newest version of glibc that a program names in its dynamic symbols."""
    contents = [path.read_bytes() for path in programs]
    wanted = [int(minor) for data in contents if _is_dynamic(data) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", data)]
    return f"manylinux_2_{max(wanted)}_{platform.machine()}" if wanted else f"linux_{platform.machine()}"


def _licenses():
    """Ours, and those of what is linked into the programs: only a checkout has them."""
    checkout = HERE.parent.parent
    others = checkout / "scripts" / "third-party-licenses"
    found = [("LICENSE", (checkout / "LICENSE").read_bytes())] if (checkout / "LICENSE").exists() else []
    if others.exists():
        found.append(("THIRD-PARTY", subprocess.run([others], check=True, stdout=subprocess.PIPE).stdout))
    return found


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    tag = f"py3-none-{_platform(_programs())}"
    name = f"{NAME}-{_version()}-{tag}.whl"
    about = f"{NAME}-{_version()}.dist-info"
    files = [(f"{NAME}/{path.name}", path.read_bytes(), 0o644) for path in _sources()]
    files += [(f"{NAME}/_programs/{path.name}", path.read_bytes(), 0o755) for path in _programs()]
    files.append((f"{NAME}-{_version()}.data/scripts/cove", LAUNCHER, 0o755))
    files += [(f"{about}/licenses/{name}", text, 0o644) for name, text in _licenses()]
    files.append((f"{about}/METADATA", _metadata(), 0o644))
    wheel = f"Wheel-Version: 1.0\nGenerator: cove_build\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files.append((f"{about}/WHEEL", wheel.encode(), 0o644))
    record = ""
    for path, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(content)}\n"
    files.append((f"{about}/RECORD", (record + f"{about}/RECORD,,\n").encode(), 0o644))
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content, mode in files:
            entry = zipfile.ZipInfo(path, WHEN)
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    base = f"{NAME}-{_version()}"
    files = [(f"{NAME}/{path.name}", path.read_bytes()) for path in _sources()]
    files += [(f"tests/{path.name}", path.read_bytes()) for path in sorted((HERE / "tests").glob("*.py"))]
    files += [(name, (HERE / name).read_bytes()) for name in ("pyproject.toml", "README.md", "backend/cove_build.py")]
    files.append(("PKG-INFO", _metadata()))
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files:
            entry = tarfile.TarInfo(f"{base}/{path}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    with open(Path(sdist_directory) / f"{base}.tar.gz", "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            packed.write(raw.getvalue())
    return f"{base}.tar.gz"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    print(target / build_wheel(target))
    print(target / build_sdist(target))
