"""Table of the export formats, one row each, and their selection by name.

Help, messages and the meaning of suffixes are derived from the rows.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TextIO

from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import well_formed

with lazily:
    from directory_indexer.integrations.exporting.database import DatabaseWriter
    from directory_indexer.integrations.exporting.writers import (
        CsvLines,
        ExportStart,
        ExportWriter,
        FileWriter,
        JsonLines,
    )


class ExportFormat(NamedTuple):
    """An export format, written as text to any stream or by a writer that needs a file.

    A file name with one of the suffixes selects it. A `verbatim` format contains unescaped texts, which could control a
    terminal. `finishing` is a notice about a slow last step.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    text: Callable[[TextIO], ExportWriter] | None = None
    file: Callable[[str, ExportStart], FileWriter] | None = None
    is_verbatim: bool = False
    finishing: str = ""

    @contextlib.contextmanager
    def writer(self, path: str, start: ExportStart) -> Iterator[ExportWriter]:
        """Yield a writer to a file."""
        if self.file:
            with contextlib.closing(self.file(path, start)) as file_writer:
                yield file_writer
        elif self.text:
            with open(path, "w", encoding="utf-8", newline="") as stream:
                yield self.text(stream)


EXPORT_FORMATS: Final = (
    ExportFormat(
        "sqlite",
        "a SQLite database",
        (".db", ".sqlite", ".sqlite3"),
        file=DatabaseWriter,
        # Indexing takes twice as long as copying.
        finishing="all passages are copied; now their words are made searchable",
    ),
    ExportFormat("jsonl", "JSON Lines", (".jsonl", ".ndjson"), text=JsonLines),
    ExportFormat("csv", "CSV", (".csv",), text=CsvLines, is_verbatim=True),
)


def is_standard_output(file: str) -> bool:
    """Whether a name stands for standard output."""
    return file == _STANDARD_OUTPUT


def named_format(name: str) -> ExportFormat:
    """Return the format with a name.

    Raises:
        UsageError: there is none.
    """
    for export_format in EXPORT_FORMATS:
        if export_format.name == name:
            return export_format
    raise UsageError(f"unknown format '{well_formed(name)}'", hint=f"choose {alternatives(format_names())}")


def export_format(file: str, named: ExportFormat | None) -> ExportFormat:
    """Return the named format, or else the one selected by the file's suffix.

    Raises:
        UsageError: the format is unknown, or a binary format would go to standard output.
    """
    chosen = named or _by_suffix(file)
    if is_standard_output(file):
        in_text = [f"--format {row.name}" for row in EXPORT_FORMATS if row.text]
        if chosen is None:
            raise UsageError("the name - does not imply a format", hint=f"add {alternatives(in_text)}")
        if chosen.text is None:
            raise UsageError(
                f"{chosen.title} cannot be written to standard output",
                hint=f"name a file, or use {alternatives(in_text)}",
            )
    elif chosen is None:
        suffixes = [suffix for row in EXPORT_FORMATS for suffix in row.suffixes]
        raise UsageError(
            f"the name '{well_formed(file)}' does not imply a format",
            hint=f"end it with one of {' '.join(suffixes)}, or add --format",
        )
    return chosen


def _by_suffix(file: str) -> ExportFormat | None:
    suffix = os.path.splitext(file)[1].lower()
    return next((row for row in EXPORT_FORMATS if suffix in row.suffixes), None)


def require_printable(chosen: ExportFormat) -> None:
    """Raise unless a format may be shown on a terminal.

    Raises:
        UsageError: it may not.
    """
    if chosen.is_verbatim:
        harmless = [row.name for row in EXPORT_FORMATS if row.text and not row.is_verbatim]
        raise UsageError(
            f"{chosen.title} contains raw text, which could control a terminal",
            hint=f"write it to a file, or as {alternatives(harmless)}",
        )


def format_names() -> list[str]:
    """Return the names of formats."""
    return [row.name for row in EXPORT_FORMATS]


def alternatives(words: Iterable[str]) -> str:
    """Format alternatives: `a, b or c`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


_STANDARD_OUTPUT = "-"
