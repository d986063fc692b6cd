"""Tables as rows of cells: delimiter-separated files, and sheets as extractors write them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

from directory_indexer.previewing.requests import Row, Rows, TableRequest

_SEPARATED: Final = {"csv": ",", "tsv": "\t"}
_MOST_CELLS: Final = 64
_LONGEST_CELL: Final = 2_000


def rows_of(request: TableRequest) -> Rows:
    """Parse the rows of a table."""
    if request.kind in _SEPARATED:
        return Rows(tuple(_separated(request)))
    return Rows(tuple(_written(request)))


def _separated(request: TableRequest) -> Iterator[Row]:
    separator = _SEPARATED[request.kind]
    first = request.text.partition("\n")[0]
    if request.kind == "csv" and first.count(";") > first.count(","):
        separator = ";"
    csv.field_size_limit(1 << 24)
    reader = csv.reader(io.StringIO(request.text), delimiter=separator)
    line = request.start_line
    for cells in reader:
        if cells:
            yield Row(line, _bounded(cells))
        line = request.start_line + reader.line_num


def _written(request: TableRequest) -> Iterator[Row]:
    for line, text in enumerate(request.text.split("\n"), request.start_line):
        if text.startswith("| ") and text.endswith(" |"):
            yield Row(line, _bounded(text[2:-2].split(" | ")))
        elif text.strip():
            yield Row(line, (), text.lstrip("# "))


def _bounded(cells: list[str]) -> tuple[str, ...]:
    return tuple(cell[:_LONGEST_CELL] for cell in cells[:_MOST_CELLS])
