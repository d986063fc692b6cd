"""Writes passages one after the other, as JSON Lines or CSV."""

from __future__ import annotations

import csv
import json
import re
from typing import TextIO

from directory_indexer.exporting.rows import PASSAGE_COLUMNS, ExportedFile, passage_row

_FORMULA = re.compile("['=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""How a cell begins that a spreadsheet would calculate; and the apostrophe, so that one can always be taken off."""


class JsonLines:
    """One object a passage, one line an object, in ASCII: some readers end lines at what only Unicode calls an end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def add(self, exported: ExportedFile) -> None:
        """Write the passages of a file."""
        for chunk in exported.chunks:
            self._stream.write(json.dumps(passage_row(exported, chunk)) + "\n")

    def finish(self) -> None:
        """Hand what is written to the system."""
        self._stream.flush()


class CsvLines:
    """One row a passage below a row of names; nothing in it is a formula."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # With a bare line feed, Python before 3.13 puts no quotes around a lone carriage return, which ends a row.
        self._rows = csv.writer(stream, lineterminator="\r\n")
        self._rows.writerow(PASSAGE_COLUMNS)

    def add(self, exported: ExportedFile) -> None:
        """Write the passages of a file."""
        for chunk in exported.chunks:
            self._rows.writerow([_harmless(value) for value in passage_row(exported, chunk).values()])

    def finish(self) -> None:
        """Hand what is written to the system."""
        self._stream.flush()


def _harmless(value: str | int | None) -> str | int | None:
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
