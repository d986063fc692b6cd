"""Detection of damaged rows of the registry, and their repair or removal.

The registry cannot be rebuilt. So a document with intact names keeps its row, with defaults for damaged values, and a
copy of the registry is made before anything is written.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.core.errors import CorruptRegistryError
from directory_indexer.storage.databases import copy_database
from directory_indexer.storage.databases.stored_values import DamagedValueError
from directory_indexer.storage.registry import (
    COLLECTION_COLUMNS,
    REPAIR_HINT,
    Registry,
    parse_collection,
    parse_scope,
)
from directory_indexer.storage.registry.documents import parse_replaced_document
from directory_indexer.storage.registry.keys import KEY_COLUMNS, parse_key
from directory_indexer.storage.registry.operations import (
    RESPONSE_COLUMNS,
    OperationRow,
    parse_operation,
    parse_response,
)
from directory_indexer.storage.registry.stored_documents import (
    COLUMNS,
    StoredDocument,
    parse_document,
    repaired_document,
)


class DamagedRow(NamedTuple):
    """A row that this program cannot have written: its table, the damaged column and all of its values."""

    table: str
    column: str
    values: tuple[Any, ...]


class RegistryRepair(NamedTuple):
    """A repair: the copy made before it, the documents that are read again, and the number of removed rows."""

    copy: Path
    mended: tuple[StoredDocument, ...]
    n_removed: int
    has_lost_collections: bool


class _CheckedTable(NamedTuple):
    """The primary key of a table, its columns, and the parser of its rows."""

    key: tuple[str, ...]
    columns: str
    parse: Callable[[Sequence[Any]], object]


_CHECKED_TABLES: Final = {
    "keys": _CheckedTable(("id",), KEY_COLUMNS, parse_key),
    "collections": _CheckedTable(("name",), COLLECTION_COLUMNS, parse_collection),
    "documents": _CheckedTable(("collection", "doc_id"), COLUMNS, parse_document),
    "replaced": _CheckedTable(
        ("collection", "doc_id"), "collection, doc_id, document", lambda row: parse_replaced_document(*row)
    ),
    "scopes": _CheckedTable(("collection", "name", "path"), "name, path", parse_scope),
    "operations": _CheckedTable(("id",), ", ".join(OperationRow._fields), parse_operation),
    "answers": _CheckedTable(("caller", "name"), RESPONSE_COLUMNS, parse_response),
}


def damaged_rows(connection: sqlite3.Connection) -> Iterator[DamagedRow]:
    """Yield the rows that this program cannot have written; their values begin with the primary key."""
    with _lossless_text(connection):
        for name, table in _CHECKED_TABLES.items():
            n_keys = len(table.key)
            rows = connection.execute(f"SELECT {', '.join(table.key)}, {table.columns} FROM {name}")  # noqa: S608
            for row in rows.fetchall():
                try:
                    table.parse(row[n_keys:])
                except DamagedValueError as error:
                    yield DamagedRow(name, error.column, row)


def find_damaged_rows(registry: Registry) -> list[DamagedRow]:
    """Return the damaged rows of a registry."""
    with registry.reading() as connection:
        return list(damaged_rows(connection.raw))


def require_intact(connection: sqlite3.Connection, path: Path) -> None:
    """Ensure that this program can have written every row.

    Raises:
        CorruptRegistryError: a row is damaged.
    """
    if damaged := next(damaged_rows(connection), None):
        raise CorruptRegistryError(f"{path}: '{damaged.column}' of a row is damaged", hint=REPAIR_HINT)


def repair(registry: Registry) -> RegistryRepair | None:
    """Repair damaged rows, or remove them; return None if there are none.

    Raises:
        StoreError: the registry cannot be copied or written.
    """
    if not find_damaged_rows(registry):
        return None
    copy = registry.path.with_name(f"{registry.path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    copy_database(registry.path, copy)
    mended: list[StoredDocument] = []
    n_removed, has_lost_collections = 0, False
    with registry.writing() as connection:
        for row in list(damaged_rows(connection)):
            _delete_row(connection, row)
            document = _repair_document(row)
            if document is not None:
                marks = ", ".join("?" * len(document))
                connection.execute(f"INSERT INTO documents ({COLUMNS}) VALUES ({marks})", document)  # noqa: S608
                mended.append(document)
            else:
                n_removed += 1
                has_lost_collections |= row.table == "collections"
    return RegistryRepair(copy, tuple(mended), n_removed, has_lost_collections)


def _repair_document(row: DamagedRow) -> StoredDocument | None:
    if row.table != "documents":
        return None
    with contextlib.suppress(DamagedValueError):
        return repaired_document(row.values[len(_CHECKED_TABLES[row.table].key) :])
    return None


def _delete_row(connection: sqlite3.Connection, row: DamagedRow) -> None:
    key = _CHECKED_TABLES[row.table].key
    condition = " AND ".join(f"{name} IS {_placeholder(value)}" for name, value in zip(key, row.values, strict=False))
    connection.execute(f"DELETE FROM {row.table} WHERE {condition}", list(map(_bind, row.values[: len(key)])))  # noqa: S608


def _placeholder(value: object) -> str:
    return "CAST(? AS TEXT)" if isinstance(value, str) else "?"


def _bind(value: object) -> object:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


@contextlib.contextmanager
def _lossless_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Decode invalid UTF-8 to surrogates, which every parser rejects."""
    text_factory = connection.text_factory
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = text_factory
