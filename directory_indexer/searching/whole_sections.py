"""The whole function or section of a hit, if few hits leave room for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

from directory_indexer.chunker.chunks import Chunk
from directory_indexer.docstore.store import Snapshot
from directory_indexer.searching.answers import Hit
from directory_indexer.searching.texts import joined

FEW_HITS: Final = 3
_MAX_CHARACTERS: Final = 12_000
_HEADING_SEPARATOR: Final = " > "


def in_whole_sections(snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits with the text of their whole section, if they are few and it is not too long."""
    return tuple(_widened(snapshot, hit) for hit in hits) if len(hits) <= FEW_HITS else tuple(hits)


def _widened(snapshot: Snapshot, hit: Hit) -> Hit:
    chunks = [stored.chunk for stored in snapshot.chunks.of_file(hit.path)]
    names = _section_paths(hit.heading)
    if not names or hit.ordinal >= len(chunks) or chunks[hit.ordinal].heading != hit.heading:
        return hit
    preceding = list(_sharing(reversed(chunks[: hit.ordinal]), names))
    section = [*reversed(preceding), *_sharing(chunks[hit.ordinal :], names)]
    first, last = section[0], section[-1]
    if last.end_char - first.start_char > _MAX_CHARACTERS:
        return hit
    return hit._replace(
        text=joined(section), start_line=first.start_line, end_line=last.end_line, start_char=first.start_char
    )


def _sharing(chunks: Iterable[Chunk], names: frozenset[str]) -> Iterable[Chunk]:
    return takewhile(lambda chunk: names & _section_paths(chunk.heading), chunks)


def _section_paths(heading: str) -> frozenset[str]:
    """Return the paths of the sections in a chunk: several small ones may share one."""
    above, separator, last = heading.rpartition(_HEADING_SEPARATOR)
    return frozenset(f"{above}{separator}{name}" for name in last.split(", ") if name)
