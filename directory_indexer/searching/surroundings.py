"""More of a file around a hit than its passage holds."""

from __future__ import annotations

from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import NotIndexedError, UsageError
from directory_indexer.searching.answers import Hit
from directory_indexer.searching.texts import Selection, Unit, read_text


def with_surroundings(snapshot: Snapshot, hit: Hit, *, n_lines: int) -> Hit:
    """Give a hit with so many lines on both sides of its passage; alone if its text has gone meanwhile."""
    first = max(hit.start_line - n_lines, 1)
    try:
        around = read_text(snapshot, hit.path, Selection(Unit.LINES, first, hit.end_line + n_lines))
    except (NotIndexedError, UsageError):
        return hit
    if hit.excerpt.text not in around.text:
        return hit
    return hit._replace(text=around.text, start_line=around.start_line, end_line=around.end_line)
