"""Extensions: functions of installed packages that read a format, if the configuration names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from directory_indexer.errors import ReaderError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.document import Document

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
