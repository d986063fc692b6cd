"""How the files of a search spread, as lines: one for each facet, the most frequent values first."""

from __future__ import annotations

from collections.abc import Iterator

from directory_indexer.docstore.facets import Facets
from directory_indexer.paths import FilePath
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.spans import Line, Span, Style, line

_WIDTH = 13


def facet_lines(facets: Facets, *, paths: PathStyle) -> Iterator[Line]:
    """Show how many files have each value."""
    n_files, *values = facets
    yield _fact("files", f"{n_files:,}")
    for name, counted in zip(facets._fields[1:], values, strict=True):
        shown = [paths.shown(FilePath(one.value)) if name == "directories" else one.value for one in counted]
        if shown:
            counts = (f"{text} {one.n_files:,}" for text, one in zip(shown, counted, strict=True))
            yield _fact(name, ", ".join(counts))


def _fact(name: str, text: str) -> Line:
    return line(text, indent=_WIDTH, head=Span(name, Style.NOTE))
