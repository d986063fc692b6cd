"""Shell examples of the documentation: commands in `console` blocks, and their real output.

The commands of a page run in its order, on a terminal of 80 columns, in a home directory that holds nothing but the
papers of a lighthouse and, unless the page makes one, an index of them.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from documenting.session import run_on_terminal
from page_documents import write_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = "lighthouse"
_COLUMNS = 80
_HOME = "/home/anna"
_INDEXING = f"dirindex index {SAMPLE}"
_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
_FIGURES = re.compile(r"\d[\d.,]*|\b(?:ms|s|min|B|KiB|MiB)\b|\s+")
_USAGE = 2
_NOT_AVAILABLE = 127


class ExampleError(Exception):
    """A command of a page that fails as it is written there."""


def renewed(text: str) -> str:
    """Return a page with the real output below each command.

    Raises:
        ExampleError: a command is wrong.
    """
    if not _BLOCK.search(text):
        return text
    with home(is_indexed="\n$ dirindex " in text and f"\n$ {_INDEXING}\n" not in text) as directory:
        return _BLOCK.sub(
            lambda block: "".join(_run(command, directory) for command in _COMMAND.findall(block[0])), text
        )


def without_figures(text: str) -> str:
    """Return a page without its figures, which differ from one run to the next."""
    return _FIGURES.sub(" ", text)


@contextmanager
def home(*, is_indexed: bool) -> Iterator[Path]:
    """Yield a home directory that holds the papers."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary) / "anna"
        (directory / SAMPLE).mkdir(parents=True)
        write_documents(directory / SAMPLE)
        if is_indexed:
            _run(f"{_INDEXING} --quiet", directory)
        yield directory


def environment_of(directory: Path) -> dict[str, str]:
    """Return the environment of a person with this home directory, who finds `dirindex` on the path."""
    path = os.pathsep.join((str(_programs()), os.environ["PATH"]))
    return {"PATH": path, "HOME": str(directory), "LANG": "C.UTF-8"}


def _run(command: str, directory: Path) -> str:
    recording = run_on_terminal(command, environment=environment_of(directory), directory=directory, columns=_COLUMNS)
    output = recording.plain.replace(str(directory), _HOME).replace(str(_programs()), f"{_HOME}/.venv/bin")
    if recording.code == _USAGE or recording.code >= _NOT_AVAILABLE:
        raise ExampleError(f"$ {command}\n{output}\nexit code {recording.code}")
    return f"$ {command}\n{output}\n" if output else f"$ {command}\n"


def _programs() -> Path:
    return Path(sys.executable).parent
