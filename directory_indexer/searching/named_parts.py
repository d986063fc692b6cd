"""What a person means by `FILE`, `FILE:10-40`, `FILE@3` or `FILE#Heading`, and by a directory.

A file that is really called so is meant before any part of another one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import NotIndexedError, UsageError
from directory_indexer.paths import FilePath, display, exact_text, resolved_path, written_path
from directory_indexer.searching.outlines import Outline, file_outline
from directory_indexer.searching.texts import Selection, Unit
from directory_indexer.searching.trees import directory_outline

_RANGE = re.compile(r"(?P<path>.+)(?P<mark>[:@])(?P<first>\d{1,9})(?P<open>-)?(?P<last>\d{1,9})?", re.DOTALL)
_UNITS: Final = {":": Unit.LINES, "@": Unit.PAGES}
_END: Final = 2**31


class NamedPart(NamedTuple):
    """A file, and the range or the heading that stands behind its name."""

    path: FilePath
    selection: Selection | None = None
    heading: str = ""


def named_part(snapshot: Snapshot, text: str) -> NamedPart:
    """Read what a person typed; whether the file has such a part is not looked at."""
    whole = _resolved(text)
    if _is_there(snapshot, whole):
        return NamedPart(whole)
    for name, heading in _parted(text):
        if heading.strip() and _is_there(snapshot, path := _resolved(name)):
            return NamedPart(path, heading=heading.strip())
    found = _RANGE.fullmatch(text)
    if found and _is_there(snapshot, path := _resolved(found["path"])):
        first = int(found["first"])
        last = int(found["last"]) if found["last"] else _END if found["open"] else first
        return NamedPart(path, Selection(_UNITS[found["mark"]], first, last))
    return NamedPart(whole)


def selected(snapshot: Snapshot, named: NamedPart) -> Selection | None:
    """Find the lines that a heading stands for.

    Raises:
        NotIndexedError: the index holds no text of the file.
        UsageError: the file has no such part.
    """
    if not named.heading:
        return named.selection
    first = file_outline(snapshot, named.path, named.heading).entries[0]
    return Selection(Unit.LINES, first.start_line, first.end_line)


def named_outline(snapshot: Snapshot, text: str) -> Outline:
    """Tell what a file, a part of one or a directory consists of, named as a person types it.

    Raises:
        NotIndexedError: the index holds nothing of it.
        UsageError: there is no such part.
    """
    named = named_part(snapshot, text)
    if named.selection and named.selection.unit is not Unit.LINES:
        raise UsageError(f"'{text}' names pages", hint=f"outline {display(named.path)} shows all of its parts")
    return outline_of(snapshot, named.path, named.heading)


def outline_of(snapshot: Snapshot, path: FilePath, heading: str = "") -> Outline:
    """Tell what a file with text, a container or a directory consists of.

    Raises:
        NotIndexedError: the index holds nothing of it.
        UsageError: it has no such part.
    """
    if heading or snapshot.chunks.has_text(path):
        return file_outline(snapshot, path, heading)
    tree = directory_outline(snapshot, path)
    if not tree.n_files:
        raise NotIndexedError(f"nothing of {display(path)} is indexed", hint=_reason(snapshot, path))
    return tree


def _reason(snapshot: Snapshot, path: FilePath) -> str:
    known = snapshot.files.get(path)
    if known is None:
        return "dirindex status lists the indexed directories"
    return known.why_without_text


def _parted(text: str) -> Iterator[tuple[str, str]]:
    """Part a text at each `#`, the last one first."""
    at = text.rfind("#")
    while at > 0:
        yield text[:at], text[at + 1 :]
        at = text.rfind("#", 0, at)


def _resolved(text: str) -> FilePath:
    """Take a path as a person types it, or as `--json` writes it."""
    text = text if os.path.lexists(os.path.expanduser(text)) else written_path(text)
    is_typed = text.isascii() or os.path.lexists(os.path.expanduser(text))
    return resolved_path(text if is_typed else exact_text(FilePath(text)))


def _is_there(snapshot: Snapshot, path: FilePath) -> bool:
    return snapshot.files.get(path) is not None or os.path.lexists(exact_text(path))
