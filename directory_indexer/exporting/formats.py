"""The formats of an export, and which one a name asks for."""

from __future__ import annotations

import os
from enum import StrEnum

from directory_indexer.errors import UsageError
from directory_indexer.paths import well_formed


class ExportFormat(StrEnum):
    """How an export is written."""

    SQLITE = "sqlite"
    JSONL = "jsonl"
    CSV = "csv"


def is_standard_output(file: str) -> bool:
    """Tell whether a name stands for standard output."""
    return file == _STANDARD_OUTPUT


def export_format(file: str, named: str | None) -> ExportFormat:
    """Tell the format from its name, or from how the name of the file ends.

    Raises:
        UsageError: neither tells it, or a database shall go to standard output.
    """
    suffix = os.path.splitext(file)[1].lower()
    found = ExportFormat(named) if named else _BY_SUFFIX.get(suffix)
    if found is None and is_standard_output(file):
        raise UsageError("the name - does not tell the format", hint="add --format jsonl or --format csv")
    if found is None:
        raise UsageError(
            f"the name '{well_formed(file)}' does not tell the format",
            hint=f"end it with one of {' '.join(_BY_SUFFIX)}, or add --format",
        )
    if found is ExportFormat.SQLITE and is_standard_output(file):
        raise UsageError("a database cannot be written to standard output", hint="name a file, or use --format jsonl")
    return found


_STANDARD_OUTPUT = "-"
_BY_SUFFIX = {
    ".db": ExportFormat.SQLITE,
    ".sqlite": ExportFormat.SQLITE,
    ".sqlite3": ExportFormat.SQLITE,
    ".jsonl": ExportFormat.JSONL,
    ".ndjson": ExportFormat.JSONL,
    ".csv": ExportFormat.CSV,
}
