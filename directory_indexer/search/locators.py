"""Parsing of locators that people type: `FILE`, `FILE:10-40`, `FILE@3`, `FILE#Heading`, and directories.

A file with exactly that name takes precedence over a part of another one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.paths import FilePath, display, exact_text, resolved_path, unquote_path
from directory_indexer.search.file_texts import Selection, SelectionUnit, reason_of_missing_text
from directory_indexer.search.outlines import Outline, directory_outline, file_outline
from directory_indexer.storage.documents.store import Snapshot

_RANGE = re.compile(r"(?P<path>.+)(?P<mark>[:@])(?P<first>\d{1,9})(?P<open>-)?(?P<last>\d{1,9})?", re.DOTALL)
_UNITS_BY_MARK: Final = {":": SelectionUnit.LINES, "@": SelectionUnit.PAGES}
_END_OF_FILE: Final = 2**31


class FileLocator(NamedTuple):
    """A file, with the range or the heading behind its name."""

    path: FilePath
    selection: Selection | None = None
    heading: str = ""


def parse_locator(snapshot: Snapshot, text: str) -> FileLocator:
    """Parse a locator; whether the file has such a part is not checked."""
    whole = _resolve_path(text)
    if _exists(snapshot, whole):
        return FileLocator(whole)
    for name, heading in _split_at_hash_signs(text):
        if heading.strip() and _exists(snapshot, path := _resolve_path(name)):
            return FileLocator(path, heading=heading.strip())
    match = _RANGE.fullmatch(text)
    if match and _exists(snapshot, path := _resolve_path(match["path"])):
        first = int(match["first"])
        last = int(match["last"]) if match["last"] else _END_OF_FILE if match["open"] else first
        return FileLocator(path, Selection(_UNITS_BY_MARK[match["mark"]], first, last))
    return FileLocator(whole)


def resolve_selection(snapshot: Snapshot, locator: FileLocator) -> Selection | None:
    """Return the lines of a heading, or else the range.

    Raises:
        NotIndexedError: the index holds no text of the file.
        UsageError: the file has no such part.
    """
    if not locator.heading:
        return locator.selection
    first = file_outline(snapshot, locator.path, locator.heading).entries[0]
    return Selection(SelectionUnit.LINES, first.start_line, first.end_line)


def outline_of_locator(snapshot: Snapshot, text: str) -> Outline:
    """Return the outline of a file, a part of one or a directory, named as a person types it.

    Raises:
        NotIndexedError: the index holds nothing of it.
        UsageError: there is no such part.
    """
    named = parse_locator(snapshot, text)
    if named.selection and named.selection.unit is not SelectionUnit.LINES:
        raise UsageError(f"'{text}' names pages", hint=f"outline {display(named.path)} shows all of its parts")
    return outline_of(snapshot, named.path, named.heading)


def outline_of(snapshot: Snapshot, path: FilePath, heading: str = "") -> Outline:
    """Return the outline of a file with text, a container or a directory.

    Raises:
        NotIndexedError: the index holds nothing of it.
        UsageError: it has no such part.
    """
    if heading or snapshot.chunks.has_text(path):
        return file_outline(snapshot, path, heading)
    tree = directory_outline(snapshot, path)
    if not tree.n_files:
        raise NotIndexedError(f"nothing of {display(path)} is indexed", hint=reason_of_missing_text(snapshot, path))
    return tree


def _split_at_hash_signs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name of a file and of a heading in it, split at each `#` of a locator, the last one first."""
    at = text.rfind("#")
    while at > 0:
        yield text[:at], text[at + 1 :]
        at = text.rfind("#", 0, at)


def _resolve_path(text: str) -> FilePath:
    """Return the path that a person types, or that `--json` writes."""
    text = text if os.path.lexists(os.path.expanduser(text)) else unquote_path(text)
    is_typed = text.isascii() or os.path.lexists(os.path.expanduser(text))
    return resolved_path(text if is_typed else exact_text(FilePath(text)))


def _exists(snapshot: Snapshot, path: FilePath) -> bool:
    return snapshot.files.get(path) is not None or os.path.lexists(exact_text(path))
