"""SQLite databases: the definitions of their tables, and the rows.

A database is deserialised in memory, read-only and without its journal: rows that are not checkpointed yet are missing.
It is hostile input. Only tables are read, never views, virtual tables or generated columns; no trigger or function of
its schema is trusted; and the steps of the engine are counted, because a page may be reachable on very many ways.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import FREE_BYTES, MAX_RATIO, Budget
from directory_indexer.formats.document import Document
from directory_indexer.formats.draft import Draft, row_line

HEADER: Final = b"SQLite format 3\0"


def is_database(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is an SQLite database."""
    return head.startswith(HEADER)


@contextlib.contextmanager
def open_database(content: bytes) -> Iterator[sqlite3.Connection]:
    """Open a database that is in memory, for queries alone.

    Raises:
        SkipFileError: a query takes more steps than the size of the database explains.
        ExtractionError: it is damaged.
    """
    steps = _Steps(_FREE_STEPS + len(content) * _STEPS_PER_BYTE)
    # In rollback-journal mode: a database in memory cannot have a write-ahead log.
    rollback = content[:_VERSIONS_AT] + b"\1\1" + content[_VERSIONS_AT + 2 :]
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(rollback)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(len(content), _MIN_LENGTH_LIMIT))
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.set_progress_handler(steps.count, _STEP_INTERVAL)
            connection.executescript(
                "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;"
            )
            yield connection
    except sqlite3.Error as error:
        if steps.is_spent:
            raise SkipFileError(SkipReason.TOO_LARGE, "a database whose tables cost more than their size") from error
        raise ExtractionError(f"damaged database: {error}") from error


def extract_database(content: bytes, kind: str, budget: Budget) -> Document:  # noqa: ARG001 - as `Format.extract`
    """Return the tables of a database, each under its name, and the definitions of its views and triggers.

    Raises:
        SkipFileError: it holds more than is read of one file.
        ExtractionError: it is damaged.
    """
    # A default value that a column was added with is stored once, whatever the number of rows.
    draft = Draft(max(FREE_BYTES, len(content) * MAX_RATIO))
    with open_database(content) as connection:
        connection.text_factory = _decode
        schema = [_SchemaEntry(*row) for row in connection.execute(_SCHEMA)]
        if len(schema) > _MAX_ENTRIES:
            raise SkipFileError(SkipReason.TOO_LARGE, f"more than {_MAX_ENTRIES:,} tables")
        virtual = {entry.name for entry in schema if entry.is_virtual}
        for entry in schema:
            owner, _, suffix = entry.name.rpartition("_")
            if owner in virtual and suffix != "content":
                continue  # the shadow table of a virtual one, such as an index of words
            draft.heading(1, entry.name)
            draft.paragraph(entry.definition)
            if entry.is_table:
                draft.rows(_lines(connection, entry.name))
    return draft.document(kind)


class _SchemaEntry(NamedTuple):
    kind: str
    name: str
    definition: str
    root_page: int

    @property
    def is_virtual(self) -> bool:
        return self.kind == "table" and not self.is_table

    @property
    def is_table(self) -> bool:
        return self.kind == "table" and self.root_page > 0 and self.definition.startswith("CREATE TABLE")


class _Steps:
    """Counts the steps of the engine, and interrupts it when there are too many."""

    def __init__(self, limit: int) -> None:
        self._n_left = limit

    @property
    def is_spent(self) -> bool:
        return self._n_left < 0

    def count(self) -> bool:
        self._n_left -= _STEP_INTERVAL
        return self.is_spent


def _lines(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    """Yield the names of the columns, and the rows that hold text or numbers."""
    # As a statement: a table of the database may have the name of the table-valued function.
    columns = [name for _, name, *_, hidden in connection.execute(f"PRAGMA table_xinfo({_quote(table)})") if not hidden]
    if not columns:
        return
    yield row_line(columns)
    for row in connection.execute(f"SELECT {', '.join(map(_quote, columns))} FROM {_quote(table)} NOT INDEXED"):  # noqa: S608 - quoted
        texts = ["" if value is None or isinstance(value, bytes) else str(value) for value in row]
        if any(texts):
            yield row_line(texts)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "replace")


_SCHEMA: Final = """
    SELECT type, name, coalesce(sql, ''), coalesce(rootpage, 0) FROM sqlite_schema
    WHERE type IN ('table', 'view', 'trigger') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid
"""
_MAX_ENTRIES: Final = 10_000
"""SQLite finds a table in time that grows with their number, so reading each takes quadratic time."""
_VERSIONS_AT: Final = 18
_MIN_LENGTH_LIMIT: Final = 1_000_000
_STEP_INTERVAL: Final = 10_000
_FREE_STEPS: Final = 1_000_000
_STEPS_PER_BYTE: Final = 4
"""A stored value takes a byte at least, and a step; only columns that were added later take steps alone."""
