"""Replacement of a document by a new version; the old one stays until the new one is indexed, or is restored."""

from __future__ import annotations

import json
import sqlite3
from typing import Final

from directory_indexer.databases.stored_values import DamagedValueError, list_in, parse_stored
from directory_indexer.registry.stored_documents import COLUMNS, State, StoredDocument, stored_document


class Replacement:
    """A write transaction of the registry that inserts one document."""

    def __init__(self, connection: sqlite3.Connection, collection: str, doc_id: str) -> None:
        self._connection = connection
        self._key = (collection, doc_id)
        row = connection.execute(
            f"SELECT {COLUMNS} FROM documents WHERE collection = ? AND doc_id = ?",  # noqa: S608 - constants
            self._key,
        ).fetchone()
        self.before = None if row is None else stored_document(row)
        """The current row of the document."""

        replaced = connection.execute(
            "SELECT document FROM replaced WHERE collection = ? AND doc_id = ?", self._key
        ).fetchone()
        self.searchable = None if replaced is None else replaced_document(*self._key, replaced[0])
        """The searchable version of the document, until the new one is searchable."""

    def put(self, document: StoredDocument) -> StoredDocument:
        """Insert the document, and return it with its new version."""
        before = self.before
        if before is not None:
            document = document._replace(
                version=before.version + 1, added_at=before.added_at, cancelled=before.cancelled
            )
            if before.state in FOUND:
                row = (*self._key, json.dumps(list(before), ensure_ascii=False))
                self._connection.execute("INSERT OR REPLACE INTO replaced VALUES (?, ?, ?)", row)
            elif before.state is not State.QUEUED:
                self._connection.execute("DELETE FROM replaced WHERE collection = ? AND doc_id = ?", self._key)
        self._write(document)
        return document

    def take_back(self) -> StoredDocument:
        """Restore the searchable version of a document in place of the new one; it is read again."""
        assert self.before is not None  # noqa: S101 - the caller has checked both
        assert self.searchable is not None  # noqa: S101
        version = self.before.version
        document = self.searchable._replace(version=version + 1, state=State.QUEUED, is_paused=False, cancelled=version)
        self._write(document)
        return document

    def _write(self, document: StoredDocument) -> None:
        self._connection.execute(f"INSERT OR REPLACE INTO documents ({COLUMNS}) VALUES ({_MARKS})", document)  # noqa: S608


def replaced_document(collection: str, doc_id: str, stored: object) -> StoredDocument:
    """Parse the row of a replaced document.

    Raises:
        DamagedValueError: it is invalid, or of another document.
    """
    document = stored_document(parse_stored("replaced.document", list_in, stored))
    if (document.collection, document.doc_id) != (collection, doc_id):
        raise DamagedValueError("replaced.document")
    return document


FOUND: Final = frozenset({State.WORDS, State.COMPLETE})
"""The states in which a document is searchable."""

_MARKS: Final = ", ".join("?" * len(StoredDocument._fields))
