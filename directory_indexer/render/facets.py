"""Facets as lines: one line per facet, most frequent values first."""

from __future__ import annotations

from collections.abc import Iterator

from directory_indexer.docstore.facets import Facets
from directory_indexer.paths import FilePath
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.spans import Line, Span, Style, line

_WIDTH = 13


def facet_lines(facets: Facets, *, paths: PathStyle) -> Iterator[Line]:
    """Format the number of files with each value of each facet."""
    n_files, *values = facets
    yield _fact("files", f"{n_files:,}")
    for name, counted in zip(facets._fields[1:], values, strict=True):
        labels = [
            paths.format(FilePath(value_count.value)) if name == "directories" else value_count.value
            for value_count in counted
        ]
        if labels:
            counts = (f"{text} {value_count.n_files:,}" for text, value_count in zip(labels, counted, strict=True))
            yield _fact(name, ", ".join(counts))


def _fact(name: str, text: str) -> Line:
    return line(text, indent=_WIDTH, head=Span(name, Style.NOTE))
