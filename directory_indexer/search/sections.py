"""Sections within a chunk, and expansion of hits to their whole function or section if there are few hits.

A chunk keeps only the names of its sections, `Outer > one, two`; their lines are found again in its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from directory_indexer.chunking.chunks import HEADING_SEPARATOR, Chunk
from directory_indexer.formats.draft import column_names
from directory_indexer.search.file_texts import join_chunks
from directory_indexer.search.requests import Hit
from directory_indexer.storage.documents.store import Snapshot

_COMMA = ", "
_KEYWORDS_BEFORE_USES = frozenset(
    {"return", "import", "from", "await", "yield", "raise", "new", "case", "if", "del", "not", "assert"}
)
"""Words that may precede a name where it is used, but not where it is defined."""

_NOT_BEFORE_DEFINITION = re.compile(r"[=(.\"'`]")
_WORD = re.compile(r"\w+")
_CELL_END = re.compile(r"[,;\t](?! )")
"""In comma-separated values; a list in prose or code has a blank behind its commas."""


class SectionStart(NamedTuple):
    """A section by its path of headings or symbols, and the offset of its name in the document."""

    path: tuple[str, ...]
    start_char: int
    line: int


def find_section_starts(chunk: Chunk, *, open_name: str = "", preceding: str = "") -> Iterator[SectionStart]:
    """Yield the sections that a chunk names, in order; one that it only continues comes first.

    `open_name` is the name of the continued section, which need not occur in the chunk again; `preceding` is the text
    before the chunk, which may end with the names of its columns.
    """
    if not chunk.heading:
        return
    *outer, last = chunk.heading.split(HEADING_SEPARATOR)
    position = 0
    for depth, name in enumerate(outer, 1):
        offset = _find_name(name, chunk.text, position)
        position = position if offset is None else offset
        yield _section_start(chunk, tuple(outer[:depth]), position)
    is_one = last == open_name or _names_columns(last, f"{preceding}\n{chunk.text}")
    names = [last] if is_one else _heading_names(last, chunk.text, position)
    for name in names:
        offset = _find_name(name, chunk.text, position)
        position = position if offset is None else offset
        yield _section_start(chunk, (*outer, name), position)


def _names_columns(name: str, text: str) -> bool:
    """Whether a name is made of the cells of a row, as the columns of a table are named."""
    return _COMMA in name and any(column_names(cells) == name for cells in map(_cells, text.splitlines()))


def _cells(line: str) -> list[str]:
    if line.startswith("|"):
        return line.strip("| ").split(" | ")
    return [cell.strip().strip('"') for cell in _CELL_END.split(line)]


def _section_start(chunk: Chunk, path: tuple[str, ...], position: int) -> SectionStart:
    line = chunk.start_line + chunk.text.count("\n", 0, position)
    return SectionStart(path, chunk.start_char + position, min(line, chunk.end_line))


def _heading_names(joined: str, text: str, position: int) -> Iterator[str]:
    """Split names that are joined by commas; one that contains a comma itself is found in the text as a whole."""
    parts = joined.split(_COMMA)
    first = 0
    while first < len(parts):
        longest = (end for end in range(len(parts), first + 1, -1) if _COMMA.join(parts[first:end]) in text[position:])
        end = next(longest, first + 1)
        yield _COMMA.join(parts[first:end])
        first = end


def _find_name(name: str, text: str, position: int) -> int | None:
    """Return the offset of a name where it is defined, else where it first occurs."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    offsets = [match.start() for match in pattern.finditer(text, position)]
    return next((offset for offset in offsets if _is_definition(text, offset)), next(iter(offsets), None))


def _is_definition(text: str, at: int) -> bool:
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return not _NOT_BEFORE_DEFINITION.search(before) and not _KEYWORDS_BEFORE_USES.intersection(_WORD.findall(before))


def first_line(text: str, *, max_chars: int) -> str:
    """Return the first line of a text that is not blank, shortened to `max_chars` characters."""
    match = re.search(r"\S[^\n]*", text)
    line = " ".join(match[0].split()) if match else ""
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


FEW_HITS: Final = 3
_MAX_CHARACTERS: Final = 12_000


def expand_to_sections(snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits with the text of their whole section, if they are few and it is not too long."""
    return tuple(_expand_hit(snapshot, hit) for hit in hits) if len(hits) <= FEW_HITS else tuple(hits)


def _expand_hit(snapshot: Snapshot, hit: Hit) -> Hit:
    chunks = [stored.chunk for stored in snapshot.chunks.of_file(hit.path)]
    names = _section_paths(hit.heading)
    if not names or hit.ordinal >= len(chunks) or chunks[hit.ordinal].heading != hit.heading:
        return hit
    preceding = list(_chunks_of_sections(reversed(chunks[: hit.ordinal]), names))
    section = [*reversed(preceding), *_chunks_of_sections(chunks[hit.ordinal :], names)]
    first, last = section[0], section[-1]
    if last.end_char - first.start_char > _MAX_CHARACTERS:
        return hit
    return hit._replace(
        text=join_chunks(section), start_line=first.start_line, end_line=last.end_line, start_char=first.start_char
    )


def _chunks_of_sections(chunks: Iterable[Chunk], names: frozenset[str]) -> Iterable[Chunk]:
    return takewhile(lambda chunk: names & _section_paths(chunk.heading), chunks)


def _section_paths(heading: str) -> frozenset[str]:
    """Return the paths of the sections in a chunk: several small ones may share one."""
    above, separator, last = heading.rpartition(HEADING_SEPARATOR)
    return frozenset(f"{above}{separator}{name}" for name in last.split(_COMMA) if name)
