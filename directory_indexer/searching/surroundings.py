"""Context lines of a hit."""

from __future__ import annotations

from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import NotIndexedError, UsageError
from directory_indexer.searching.answers import Hit
from directory_indexer.searching.texts import Selection, Unit, read_text


def with_surroundings(snapshot: Snapshot, hit: Hit, *, n_lines: int) -> Hit:
    """Return a hit with so many lines of context on both sides; unchanged if its text is gone."""
    first = max(hit.start_line - n_lines, 1)
    try:
        context = read_text(snapshot, hit.path, Selection(Unit.LINES, first, hit.end_line + n_lines))
    except (NotIndexedError, UsageError):
        return hit
    if hit.excerpt.text not in context.text:
        return hit
    return hit._replace(text=context.text, start_line=context.start_line, end_line=context.end_line)
