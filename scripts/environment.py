"""The virtual environment of this checkout, which the scripts beside this file share."""

from __future__ import annotations

import hashlib
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
import venv
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
_BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
_STAMP = VENV / "installed.txt"
"""The hash of the installed metadata, and the groups."""

_MODELS = "rapidocr>=3.10"  # for the models in it, without OpenCV and all else that its own code needs
_WHEEL = re.compile(r"\s*(?:Downloading|Using cached|Processing) (\S+\.whl)(?: \(([\d.]+) (bytes|kB|MB|GB)\))?")
_UNPACKING = "Installing collected packages: "
_UNITS = {"bytes": 1, "kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
_TICK_SECONDS = 0.5
_QUIET_SECONDS = 10.0


def install(*options: str) -> None:
    """Install the checkout and dependency groups (`--group NAME` …) into .venv, from wheels alone.

    Installed packages are not checked again until the project's metadata changes.
    """
    if sys.version_info < (3, 11):  # noqa: UP036 - the caller may run an older one
        sys.exit(f"dirindex needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    if not _BIN.exists():
        progress = Progress("making .venv")
        venv.create(VENV, with_pip=True)
        progress.end("")
        # Dependency groups need pip 25.1.
        _pip("updating pip", "--upgrade", "pip>=25.1")
    state, *installed = _STAMP.read_text().split() if _STAMP.exists() else ("",)
    groups, is_current = options[1::2], state == _state()
    missing = [group for group in groups if not is_current or group not in installed]
    if is_current and not missing:
        return
    project = () if is_current else ("--editable", str(ROOT))
    words = [word for group in missing for word in ("--group", group)]
    _pip("installing dirindex", "--only-binary", ":all:", *project, *words)
    if "dev" in missing:
        _pip("installing models for OCR", "--only-binary", ":all:", "--no-deps", _MODELS)
    _STAMP.write_text(" ".join([_state(), *missing, *(installed if is_current else ())]))


def _state() -> str:
    """Return a hash of the files that determine what is installed."""
    files = (ROOT / "pyproject.toml", ROOT / "directory_indexer/__init__.py")
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def command(name: str) -> str:
    """Return the path of a program of the environment."""
    return str(_BIN / name)


def run(*words: str) -> None:
    """Print a command and run it in the root of the checkout; exit if it fails."""
    relative = [os.path.relpath(word, ROOT) if Path(word).is_absolute() else word for word in words]
    print(f"\n$ {shlex.join(relative)}", flush=True)
    code = subprocess.run(words, cwd=ROOT, check=False).returncode  # noqa: S603 - the words are ours
    if code:
        sys.exit(code)


class Progress:
    """A progress line: overwritten on a terminal, else repeated every ten seconds."""

    def __init__(self, title: str) -> None:
        self._title, self._began = title, time.monotonic()
        self._written = self._began
        self._is_terminal = sys.stdout.isatty()
        self._write(f"{title} …")

    def show(self, state: str) -> None:
        """Write the state of the work, on a terminal at once, else when due."""
        if self._is_terminal or time.monotonic() - self._written >= _QUIET_SECONDS:
            # A narrow terminal cuts off the end, so the seconds come first.
            self._write(f"{self._title}, {self._seconds}: {state}")

    def end(self, result: str) -> None:
        """Write the result and end the line."""
        self._write(f"{self._title}: {result}{', ' if result else ''}{self._seconds}", end="\n")

    @property
    def _seconds(self) -> str:
        return f"{time.monotonic() - self._began:.0f} s"

    def _write(self, text: str, *, end: str = "") -> None:
        self._written = time.monotonic()
        if self._is_terminal:
            print(f"\r\x1b[2K{text[: shutil.get_terminal_size().columns - 1]}", end=end, flush=True)
        else:
            print(text, flush=True)


class Packages:
    """The progress of pip, parsed from its output: packages to fetch, with their sizes, and to unpack."""

    def __init__(self) -> None:
        self.n_to_unpack = 0
        self._n_fetched = self._n_bytes = 0
        self._latest = ""

    def read(self, line: str) -> None:
        """Record a line that pip has written."""
        if line.startswith(_UNPACKING):
            self.n_to_unpack = line.count(",") + 1
        elif wheel := _WHEEL.match(line):
            n_bytes = _size_of(wheel)
            self._n_fetched, self._n_bytes = self._n_fetched + 1, self._n_bytes + n_bytes
            self._latest = f"{Path(wheel[1]).name.split('-')[0]} ({_size(n_bytes)})"

    def state(self, n_unpacked: int) -> str:
        """Return the state of the work, given how many packages are unpacked."""
        if self.n_to_unpack:
            return f"unpacking, {min(self.n_to_unpack, max(0, n_unpacked))} of {_packages(self.n_to_unpack)}"
        if not self._n_fetched:
            return "looking for packages"
        return f"fetching, {_packages(self._n_fetched)}, {_size(self._n_bytes)}, now {self._latest}"

    def result(self) -> str:
        """Return the result of the work."""
        return f"{_packages(self.n_to_unpack)}, {_size(self._n_bytes)}" if self.n_to_unpack else "nothing to do"


def _pip(title: str, *arguments: str) -> None:
    """Install packages, and show the progress."""
    progress, packages, n_before = Progress(title), Packages(), _n_installed()
    words = (command("python"), "-m", "pip", "install", "--progress-bar", "off", "--no-warn-conflicts", *arguments)
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603 - the words are ours
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True).start()
    while (line := _next(lines)) is not None:
        packages.read(line)
        progress.show(packages.state(_n_installed() - n_before))
    if process.wait():
        sys.exit(process.returncode)
    progress.end(packages.result())


def _forward(source: IO[str] | None, lines: queue.SimpleQueue[str | None]) -> None:
    for line in source or ():
        lines.put(line)
    lines.put(None)


def _next(lines: queue.SimpleQueue[str | None]) -> str | None:
    """Return the next line, an empty one if there is none yet, or None at the end."""
    try:
        return lines.get(timeout=_TICK_SECONDS)
    except queue.Empty:
        return ""


def _size_of(wheel: re.Match[str]) -> int:
    if wheel[2]:
        return int(float(wheel[2]) * _UNITS[wheel[3]])
    path = Path(wheel[1])
    return path.stat().st_size if path.is_file() else 0


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= _UNITS["MB"] else f"{n_bytes / 1e3:.0f} kB"


def _packages(number: int) -> str:
    return f"{number} package{'' if number == 1 else 's'}"


def _n_installed() -> int:
    packages = sysconfig.get_path("purelib", "venv", vars={"base": str(VENV), "platbase": str(VENV)})
    return sum(name.endswith(".dist-info") for name in os.listdir(packages))
