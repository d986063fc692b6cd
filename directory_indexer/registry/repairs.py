"""Damaged rows of the registry: their detection, and their repair or removal.

What is in the registry cannot be made again. So a document whose names are whole keeps its row, with defaults in the
place of what is damaged, and a copy of the registry is kept before anything is written.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.databases.copying import copy_database
from directory_indexer.databases.stored_values import DamagedValueError
from directory_indexer.errors import CorruptRegistryError
from directory_indexer.registry.answers import ANSWER_COLUMNS, given_answer
from directory_indexer.registry.collections import COLLECTION_COLUMNS, collection_row
from directory_indexer.registry.keys import KEY_COLUMNS, key_row
from directory_indexer.registry.operations import OperationRow, operation_row
from directory_indexer.registry.replacements import replaced_document
from directory_indexer.registry.scopes import scope_row
from directory_indexer.registry.store import REPAIR, Registry
from directory_indexer.registry.stored_documents import COLUMNS, StoredDocument, mended_document, stored_document


class DamagedRow(NamedTuple):
    """A row that this program cannot have written: its table, the damaged column and all of its values."""

    table: str
    column: str
    values: tuple[Any, ...]


class RegistryRepair(NamedTuple):
    """A repair: the copy from before it, the documents that are read again, and the number of rows that are gone."""

    copy: Path
    mended: tuple[StoredDocument, ...]
    n_removed: int
    has_lost_collections: bool


class _Table(NamedTuple):
    """The primary key of a table, its columns, and what parses a row of these."""

    key: tuple[str, ...]
    columns: str
    parse: Callable[[Sequence[Any]], object]


_TABLES: Final = {
    "keys": _Table(("id",), KEY_COLUMNS, key_row),
    "collections": _Table(("name",), COLLECTION_COLUMNS, collection_row),
    "documents": _Table(("collection", "doc_id"), COLUMNS, stored_document),
    "replaced": _Table(("collection", "doc_id"), "collection, doc_id, document", lambda row: replaced_document(*row)),
    "scopes": _Table(("collection", "name", "path"), "name, path", scope_row),
    "operations": _Table(("id",), ", ".join(OperationRow._fields), operation_row),
    "answers": _Table(("caller", "name"), ANSWER_COLUMNS, given_answer),
}


def damaged_rows(connection: sqlite3.Connection) -> Iterator[DamagedRow]:
    """Yield the rows that this program cannot have written; of each the primary key comes first in its values."""
    with _any_text(connection):
        for name, table in _TABLES.items():
            n_keys = len(table.key)
            rows = connection.execute(f"SELECT {', '.join(table.key)}, {table.columns} FROM {name}")  # noqa: S608
            for row in rows.fetchall():
                try:
                    table.parse(row[n_keys:])
                except DamagedValueError as error:
                    yield DamagedRow(name, error.column, row)


def damage_in(registry: Registry) -> list[DamagedRow]:
    """List the damaged rows of a registry."""
    with registry.reading() as connection:
        return list(damaged_rows(connection.raw))


def require_intact(connection: sqlite3.Connection, path: Path) -> None:
    """Make sure that this program can have written every row.

    Raises:
        CorruptRegistryError: it cannot.
    """
    if damaged := next(damaged_rows(connection), None):
        raise CorruptRegistryError(f"{path}: '{damaged.column}' of a row is damaged", hint=REPAIR)


def repair(registry: Registry) -> RegistryRepair | None:
    """Mend damaged rows, or take them out; None if there are none.

    Raises:
        StoreError: the registry cannot be copied or written.
    """
    if not damage_in(registry):
        return None
    copy = registry.path.with_name(f"{registry.path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    copy_database(registry.path, copy)
    mended: list[StoredDocument] = []
    n_removed, has_lost_collections = 0, False
    with registry.writing() as connection:
        for row in list(damaged_rows(connection)):
            _remove(connection, row)
            document = _mended(row)
            if document is not None:
                marks = ", ".join("?" * len(document))
                connection.execute(f"INSERT INTO documents ({COLUMNS}) VALUES ({marks})", document)  # noqa: S608
                mended.append(document)
            else:
                n_removed += 1
                has_lost_collections |= row.table == "collections"
    return RegistryRepair(copy, tuple(mended), n_removed, has_lost_collections)


def _mended(row: DamagedRow) -> StoredDocument | None:
    if row.table != "documents":
        return None
    with contextlib.suppress(DamagedValueError):
        return mended_document(row.values[len(_TABLES[row.table].key) :])
    return None


def _remove(connection: sqlite3.Connection, row: DamagedRow) -> None:
    key = _TABLES[row.table].key
    condition = " AND ".join(f"{name} IS {_mark(value)}" for name, value in zip(key, row.values, strict=False))
    connection.execute(f"DELETE FROM {row.table} WHERE {condition}", list(map(_bound, row.values[: len(key)])))  # noqa: S608


def _mark(value: object) -> str:
    return "CAST(? AS TEXT)" if isinstance(value, str) else "?"


def _bound(value: object) -> object:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


@contextlib.contextmanager
def _any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Read text that is no UTF-8 as what no parser takes."""
    usual = connection.text_factory
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = usual
