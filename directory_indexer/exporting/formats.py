"""The table of the formats of an export, one row each, and which one a name asks for.

A row is all that a format needs beside its writer: help, messages and what the end of a name means are drawn from it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TextIO

from directory_indexer.errors import UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import well_formed

with lazily:
    from directory_indexer.exporting.database import DatabaseWriter
    from directory_indexer.exporting.streams import CsvLines, JsonLines
    from directory_indexer.exporting.writing import ExportStart, ExportWriter, FileWriter


class ExportFormat(NamedTuple):
    """How an export is written: as text, into any stream, or by what needs a file of its own.

    A name that ends with one of the suffixes asks for it. What is `verbatim` holds texts as they are, of which some
    could steer a terminal. Some formats take long to be finished, and say with what.
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
        """Write to a file until the block ends."""
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
        # Which takes twice as long as copying them.
        finishing="all chunks are copied; now their words are made searchable",
    ),
    ExportFormat("jsonl", "JSON Lines", (".jsonl", ".ndjson"), text=JsonLines),
    ExportFormat("csv", "CSV", (".csv",), text=CsvLines, is_verbatim=True),
)


def is_standard_output(file: str) -> bool:
    """Return whether a name stands for standard output."""
    return file == _STANDARD_OUTPUT


def named_format(name: str) -> ExportFormat:
    """Return the format of a name.

    Raises:
        UsageError: there is none.
    """
    for one in EXPORT_FORMATS:
        if one.name == name:
            return one
    raise UsageError(f"unknown format '{well_formed(name)}'", hint=f"choose {any_of(format_names())}")


def export_format(file: str, named: ExportFormat | None) -> ExportFormat:
    """Tell the format, if it is not named, from how the name of the file ends.

    Raises:
        UsageError: nothing tells it, or what is no text shall go to standard output.
    """
    found = named or _by_suffix(file)
    if is_standard_output(file):
        in_text = [f"--format {one.name}" for one in EXPORT_FORMATS if one.text]
        if found is None:
            raise UsageError("the name - does not tell the format", hint=f"add {any_of(in_text)}")
        if found.text is None:
            raise UsageError(
                f"{found.title} cannot be written to standard output", hint=f"name a file, or use {any_of(in_text)}"
            )
    elif found is None:
        suffixes = [suffix for one in EXPORT_FORMATS for suffix in one.suffixes]
        raise UsageError(
            f"the name '{well_formed(file)}' does not tell the format",
            hint=f"end it with one of {' '.join(suffixes)}, or add --format",
        )
    return found


def _by_suffix(file: str) -> ExportFormat | None:
    suffix = os.path.splitext(file)[1].lower()
    return next((one for one in EXPORT_FORMATS if suffix in one.suffixes), None)


def require_harmless(chosen: ExportFormat) -> None:
    """Make sure that a terminal may be shown a format.

    Raises:
        UsageError: it may not.
    """
    if chosen.is_verbatim:
        harmless = [one.name for one in EXPORT_FORMATS if one.text and not one.is_verbatim]
        raise UsageError(
            f"{chosen.title} holds texts as they are, and some could steer a terminal",
            hint=f"write it to a file, or as {any_of(harmless)}",
        )


def format_names() -> list[str]:
    """List what formats are called."""
    return [one.name for one in EXPORT_FORMATS]


def any_of(words: Iterable[str]) -> str:
    """Write alternatives as people do: `a, b or c`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


_STANDARD_OUTPUT = "-"
