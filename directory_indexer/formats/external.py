"""Readers of further formats that the configuration names: commands, and functions of installed packages."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final

from directory_indexer.config.indexing import FILE
from directory_indexer.core.errors import ReaderError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.decoding import decode
from directory_indexer.formats.document import Document, extract_plain
from directory_indexer.formats.draft import MAX_CHARACTERS
from directory_indexer.formats.html import extract_html
from directory_indexer.formats.limited_program import LimitedProgram, ProgramLimits
from directory_indexer.formats.markup import extract_markdown


@dataclass(frozen=True)
class Command:
    """A command that writes the text of a file to its standard output, as text, Markdown or HTML in UTF-8.

    `program` is its full path, "" if it was not found: it runs in workers, which do not have the environment.
    """

    program: str
    arguments: tuple[str, ...]
    suffix: str
    output: str
    seconds: int

    def __call__(self, content: bytes, kind: str, _: Budget) -> Document:
        """Return the output of the command for a file, which it reads from a private copy.

        Raises:
            SkipFileError: it writes more than the size limit, or no text.
            ReaderError: it cannot be started, fails, or takes too long.
        """
        if not self.program:
            raise ReaderError(f"{self.arguments[0]} is not installed")
        with tempfile.TemporaryDirectory(prefix="dirindex-") as directory:
            path = Path(directory) / f"file.{self.suffix}"
            path.write_bytes(content)
            with tempfile.TemporaryFile(dir=directory) as written:
                arguments = [self.program, *(argument.replace(FILE, str(path)) for argument in self.arguments[1:])]
                limits = ProgramLimits(self.seconds, _MAX_BYTES)
                LimitedProgram(arguments, directory=path.parent, output=written, limits=limits).finish()
                written.seek(0)
                output = written.read(_MAX_BYTES + 1)
        if len(output) > _MAX_BYTES:
            raise SkipFileError(
                SkipReason.TOO_LARGE, f"{os.path.basename(self.arguments[0])} writes more than the size limit"
            )
        return _READERS[self.output](decode(output), kind)


_MAX_BYTES: Final = 4 * MAX_CHARACTERS
_READERS: Final[dict[str, Callable[[str, str], Document]]] = {
    "html": extract_html,
    "markdown": extract_markdown,
    "text": extract_plain,
}


GROUP: Final = "directory_indexer.extractors"
"""The group of entry points that extensions declare."""


@dataclass(frozen=True)
class Extension:
    """An entry point: a function that turns the bytes and kind of a file into a document or text."""

    name: str

    def __call__(self, content: bytes, kind: str, _: Budget) -> Document:
        """Return the document of a file that the extension reads.

        Raises:
            SkipFileError: as the extension says.
            ReaderError: it is not installed, cannot be loaded, or gives no document.
        """
        result = _load(self.name)(content, kind)
        if isinstance(result, str):
            return Document(result, kind)
        if not isinstance(result, Document):
            raise ReaderError(f"the extension {self.name!r} gives neither a document nor text")
        return result._replace(kind=kind)


def version_of(name: str) -> str:
    """Return the version of the package that provides an extension; "" if none is installed."""
    entry_point = _find_entry_point(name)
    return entry_point.dist.version if entry_point and entry_point.dist else ""


@cache
def _load(name: str) -> Callable[[bytes, str], object]:
    entry_point = _find_entry_point(name)
    if entry_point is None:
        raise ReaderError(f"the extension {name!r} is not installed")
    try:
        function: Callable[[bytes, str], object] = entry_point.load()
    except Exception as error:
        raise ReaderError(f"the extension {name!r} cannot be loaded ({type(error).__name__})") from error
    return function


def _find_entry_point(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=GROUP, name=name)), None)
