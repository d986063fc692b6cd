"""Where in a chunk the sections begin that its heading names.

A chunk keeps no more of its sections than their names, `Outer > one, two`; the lines are found again in its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.chunker.chunks import Chunk

SEPARATOR: Final = " > "
_COMMA = ", "
_USES = frozenset({"return", "import", "from", "await", "yield", "raise", "new", "case", "if", "del", "not", "assert"})
"""What may stand before a name where it is used, and not where it is defined."""

_NO_DEFINITION = re.compile(r"[=(.\"'`]")
_WORD = re.compile(r"\w+")


class SectionStart(NamedTuple):
    """A section by its path of headings or symbols, and the character of the document at which its name stands."""

    path: tuple[str, ...]
    start_char: int
    line: int


def section_starts(chunk: Chunk, *, open_name: str = "") -> Iterator[SectionStart]:
    """Yield the sections that a chunk names, in their order; one that it only goes on with comes first.

    `open_name` is what that one would be called, for it need not stand in the chunk again.
    """
    if not chunk.heading:
        return
    *outer, last = chunk.heading.split(SEPARATOR)
    position = 0
    for depth, name in enumerate(outer, 1):
        found = _place(name, chunk.text, position)
        position = position if found is None else found
        yield _start(chunk, tuple(outer[:depth]), position)
    names = [last] if last == open_name else _names(last, chunk.text, position)
    for name in names:
        found = _place(name, chunk.text, position)
        position = position if found is None else found
        yield _start(chunk, (*outer, name), position)


def _start(chunk: Chunk, path: tuple[str, ...], position: int) -> SectionStart:
    line = chunk.start_line + chunk.text.count("\n", 0, position)
    return SectionStart(path, chunk.start_char + position, min(line, chunk.end_line))


def _names(joined: str, text: str, position: int) -> Iterator[str]:
    """Part the names that stand together; one that holds a comma itself is found in the text as a whole."""
    parts = joined.split(_COMMA)
    first = 0
    while first < len(parts):
        longest = (end for end in range(len(parts), first + 1, -1) if _COMMA.join(parts[first:end]) in text[position:])
        end = next(longest, first + 1)
        yield _COMMA.join(parts[first:end])
        first = end


def _place(name: str, text: str, position: int) -> int | None:
    """Find a name where it is defined, else where it first occurs."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    places = [found.start() for found in pattern.finditer(text, position)]
    return next((at for at in places if _is_definition(text, at)), next(iter(places), None))


def _is_definition(text: str, at: int) -> bool:
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return not _NO_DEFINITION.search(before) and not _USES.intersection(_WORD.findall(before))


def first_line(text: str, *, most: int) -> str:
    """Give the first line of a text that holds anything."""
    found = re.search(r"\S[^\n]*", text)
    shown = " ".join(found[0].split()) if found else ""
    return shown if len(shown) <= most else shown[: most - 1] + "…"
