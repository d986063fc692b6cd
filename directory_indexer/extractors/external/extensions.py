"""Extensions: functions of installed packages that read a kind of files, if the configuration names them."""

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
    """An entry point: a function of the bytes of a file and of its kind that gives a document, or its text."""

    name: str

    def __call__(self, content: bytes, kind: str, _: Budget) -> Document:
        """Have the extension read the bytes of a file.

        Raises:
            SkipFileError: as the extension says.
            ReaderError: it is not installed, cannot be loaded, or gives no document.
        """
        found = _loaded(self.name)(content, kind)
        if isinstance(found, str):
            return Document(found, kind)
        if not isinstance(found, Document):
            raise ReaderError(f"the extension {self.name!r} gives neither a document nor text")
        return found._replace(kind=kind)


def version_of(name: str) -> str:
    """Give the version of the package that an extension comes from; "" where none is installed."""
    found = _find(name)
    return found.dist.version if found and found.dist else ""


@cache
def _loaded(name: str) -> Callable[[bytes, str], object]:
    found = _find(name)
    if found is None:
        raise ReaderError(f"the extension {name!r} is not installed")
    try:
        function: Callable[[bytes, str], object] = found.load()
    except Exception as error:
        raise ReaderError(f"the extension {name!r} cannot be loaded ({type(error).__name__})") from error
    return function


def _find(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=GROUP, name=name)), None)
