"""Export of the index for other programs: a SQLite database, JSON Lines or CSV.

Here is the table of the formats, one row each, their selection by name, and the file that an export is written to.
Help, messages and the meaning of suffixes are derived from the rows. The file is written beside its path under another
name, and renamed when complete.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TextIO

from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.core.kept_files import sync_path
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, OsPath, lies_in, os_path, well_formed

with lazily:
    import tempfile

    from directory_indexer.integrations.exporting.writers import (
        CsvLines,
        DatabaseWriter,
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


_DRAFT = ".dirindex-export-"
_SQLITE_SUFFIXES = ("-wal", "-journal")


def require_free(target: FilePath, own: Iterable[FilePath], *, force: bool) -> None:
    """Raise unless an export may be written to a path; checked before any work is done.

    Raises:
        UsageError: something is there, it cannot be replaced, or it is or would be a part of the index.
        UnavailableError: another program has the database open that is there.
    """
    place = os_path(target)
    if any(_is_in(target, path) for path in own):
        raise UsageError(f"'{place}' belongs to the index", hint="choose a place outside of the data directory")
    if not os.path.isdir(os.path.dirname(place)):
        raise UsageError(f"there is no directory '{OsPath(os.path.dirname(place))}'", hint="create it, or name another")
    if not os.path.lexists(place):
        return
    if not stat.S_ISREG(os.lstat(place).st_mode):
        raise UsageError(f"'{place}' exists and is not a regular file", hint="for standard output write -")
    if not force:
        raise _exists_error(place)
    for end in _SQLITE_SUFFIXES:
        # SQLite would apply this journal to the new database.
        if os.path.exists(os.fspath(place) + end):
            raise UnavailableError(
                f"'{place}' is a database that is in use: there is '{place}{end}'",
                hint="close it in the other program, or choose another name",
            )


@contextlib.contextmanager
def staged_file(target: FilePath, *, force: bool) -> Iterator[str]:
    """Yield the path of an empty private file, and move it to the target when the block ends.

    If the block raises, the file is removed.

    Raises:
        UsageError: the target exists now.
    """
    place = os_path(target)
    number, draft = tempfile.mkstemp(prefix=_DRAFT, dir=os.path.dirname(place))
    os.close(number)
    try:
        yield draft
        _publish(draft, place, force=force)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def _publish(draft: str, place: OsPath, *, force: bool) -> None:
    sync_path(draft)
    if not force and os.path.lexists(place):
        raise _exists_error(place)
    os.replace(draft, place)
    sync_path(os.path.dirname(place))


def _exists_error(place: OsPath) -> UsageError:
    return UsageError(f"'{place}' already exists", hint="--force replaces it")


def _is_in(target: FilePath, own: FilePath) -> bool:
    """Whether a path equals or is below another, by name or, on case-insensitive file systems, by inode."""
    if lies_in(target, own):
        return True
    place = os.fspath(os_path(target))
    while not _is_same(place, own):
        above = os.path.dirname(place)
        if above == place:
            return False
        place = above
    return True


def _is_same(place: str, own: FilePath) -> bool:
    try:
        return os.path.samefile(place, os_path(own))
    except OSError:
        return False
