"""One document takes the place of another one, which is kept until the new one is found, and can be taken back."""

from __future__ import annotations

import json
import sqlite3
from typing import Final

from directory_indexer.databases.stored_values import DamagedValueError, list_in, parse_stored
from directory_indexer.registry.stored_documents import COLUMNS, State, StoredDocument, stored_document


class Replacement:
    """The only writer of the registry, about to put one document in."""

    def __init__(self, connection: sqlite3.Connection, collection: str, doc_id: str) -> None:
        self._connection = connection
        self._key = (collection, doc_id)
        row = connection.execute(
            f"SELECT {COLUMNS} FROM documents WHERE collection = ? AND doc_id = ?",  # noqa: S608 - constants
            self._key,
        ).fetchone()
        self.before = None if row is None else stored_document(row)
        """What was there of it."""

        kept = connection.execute(
            "SELECT document FROM replaced WHERE collection = ? AND doc_id = ?", self._key
        ).fetchone()
        self.found = None if kept is None else replaced_document(*self._key, kept[0])
        """What is found of it, as long as what takes its place is not."""

    def put(self, document: StoredDocument) -> StoredDocument:
        """Put the document in, and give it with the version that it has now."""
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
        """Put what is still found of a document into the place of what was to be; it is read again."""
        assert self.before is not None  # noqa: S101 - both are looked at before
        assert self.found is not None  # noqa: S101
        version = self.before.version
        document = self.found._replace(version=version + 1, state=State.QUEUED, is_paused=False, cancelled=version)
        self._write(document)
        return document

    def _write(self, document: StoredDocument) -> None:
        self._connection.execute(f"INSERT OR REPLACE INTO documents ({COLUMNS}) VALUES ({_MARKS})", document)  # noqa: S608


def replaced_document(collection: str, doc_id: str, written: object) -> StoredDocument:
    """Parse the row of a document that another one takes the place of.

    Raises:
        DamagedValueError: it is none, or one of another document.
    """
    document = stored_document(parse_stored("replaced.document", list_in, written))
    if (document.collection, document.doc_id) != (collection, doc_id):
        raise DamagedValueError("replaced.document")
    return document


FOUND: Final = frozenset({State.WORDS, State.COMPLETE})
"""The states in which a document is found."""

_MARKS: Final = ", ".join("?" * len(StoredDocument._fields))
