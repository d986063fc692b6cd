"""Export of passages as JSON Lines or CSV."""

from __future__ import annotations

import csv
import json
import re
from typing import TextIO

from directory_indexer.exporting.rows import PASSAGE_COLUMNS, ExportedFile, passage_row

_FORMULA = re.compile("['=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""First characters of cells that a spreadsheet would evaluate; and the apostrophe, so that it can always be removed."""


class JsonLines:
    """One JSON object per line, in ASCII: some readers split lines at Unicode line separators."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def add(self, exported: ExportedFile) -> None:
        """Write the passages of a file."""
        for chunk in exported.chunks:
            self._stream.write(json.dumps(passage_row(exported, chunk)) + "\n")

    def finish(self) -> None:
        """Flush the stream."""
        self._stream.flush()


class CsvLines:
    """One row per passage below a header; no cell is a formula."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # With a bare line feed, Python before 3.13 does not quote a lone carriage return, which would end a row.
        self._rows = csv.writer(stream, lineterminator="\r\n")
        self._rows.writerow(PASSAGE_COLUMNS)

    def add(self, exported: ExportedFile) -> None:
        """Write the passages of a file."""
        for chunk in exported.chunks:
            self._rows.writerow([_harmless(value) for value in passage_row(exported, chunk).values()])

    def finish(self) -> None:
        """Flush the stream."""
        self._stream.flush()


def _harmless(value: str | int | None) -> str | int | None:
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
