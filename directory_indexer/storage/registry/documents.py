"""The documents sent to a collection: their states, replacements, and the metadata of their senders.

A row exists from the moment a document is accepted until it is removed everywhere else. A replaced document stays until
the new version is indexed, or is restored. Metadata are mapped to the fields of the index.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.config import DEFAULT, doc_id_of
from directory_indexer.core.errors import ConflictError
from directory_indexer.core.ids import DocId
from directory_indexer.core.ids import doc_id as parsed_id
from directory_indexer.core.paths import FilePath, containers_around
from directory_indexer.formats.document import Description, Metadata
from directory_indexer.storage.databases.stored_values import (
    DamagedValueError,
    parse_intact_rows,
    parse_list,
    parse_stored,
)
from directory_indexer.storage.registry import Registry
from directory_indexer.storage.registry.stored_documents import (
    COLUMNS,
    DocumentProgress,
    DocumentSource,
    DocumentState,
    StoredDocument,
    parse_document,
)

_SELECT: Final = f"SELECT {COLUMNS} FROM documents WHERE collection = ?"  # noqa: S608 - constants
_STATES: Final = ", ".join(f"'{state}'" for state in DocumentState)
_SELECT_IS_DELETING: Final = "SELECT is_leaving FROM collections WHERE name = ?"


class Documents:
    """The documents of one collection; lists omit damaged rows, which the doctor reports and repairs."""

    def __init__(self, registry: Registry, collection: str) -> None:
        self._registry = registry
        self._collection = collection

    def get(self, doc_id: str) -> StoredDocument | None:
        """Return a document by id; None if there is none.

        Raises:
            CorruptRegistryError: its row is damaged.
        """
        if not self._registry.exists():
            return None
        with self._registry.reading() as connection:
            row = connection.raw.execute(f"{_SELECT} AND doc_id = ?", (self._collection, doc_id)).fetchone()
            return None if row is None else parse_document(row)

    def get_all(self, doc_ids: Sequence[str]) -> list[StoredDocument]:
        """Return documents by id."""
        return self._select_documents("AND doc_id IN (SELECT value FROM json_each(?))", json.dumps(list(doc_ids)))

    def all(self) -> list[StoredDocument]:
        """Return all documents, sorted by id."""
        return self._select_documents("ORDER BY doc_id")

    def page(self, *, after: str = "", limit: int, state: DocumentState | None = None) -> list[StoredDocument]:
        """Return the next documents after an id, sorted by id: those in a state, or all but those being deleted."""
        condition = "AND doc_id > ? AND iif(? IS NULL, state <> 'deleting', state = ?) ORDER BY doc_id LIMIT ?"
        return self._select_documents(condition, after, state, state, limit)

    def in_state(self, *states: DocumentState, limit: int = -1) -> list[StoredDocument]:
        """Return the documents in any of these states, in the order of their last change."""
        listed = ", ".join(f"'{state}'" for state in states)
        return self._select_documents(f"AND state IN ({listed}) ORDER BY changed_at, doc_id LIMIT ?", limit)

    def waiting_to_be_parsed(self, *, limit: int) -> list[StoredDocument]:
        """Return the documents that wait to be parsed and are not paused, oldest first."""
        return self._select_documents(
            "AND state = 'queued' AND NOT is_paused ORDER BY changed_at, doc_id LIMIT ?", limit
        )

    def not_yet_embedded(self, *, limit: int) -> list[StoredDocument]:
        """Return the documents that are not searchable by meaning yet, newest first."""
        return self._select_documents(
            "AND state IN ('queued', 'words') ORDER BY changed_at DESC, doc_id LIMIT ?", limit
        )

    def being_deleted(self) -> list[DocId]:
        """Return the ids of the documents that are being deleted."""
        query = "SELECT CAST(doc_id AS TEXT) FROM documents WHERE collection = ? AND state = 'deleting'"
        ids = (parsed_id(doc_id) for (doc_id,) in self._registry.rows(query, self._collection))
        return [doc_id for doc_id in ids if doc_id]

    def unfinished_states(self) -> frozenset[DocumentState]:
        """Return the states in which documents wait for background work."""
        rows = self._registry.rows(
            """SELECT DISTINCT state FROM documents WHERE collection = ?
               AND (state = 'deleting' OR (state IN ('queued', 'words') AND NOT is_paused))""",
            self._collection,
        )
        return frozenset(DocumentState(state) for (state,) in rows)  # limited by the condition

    def pause(self, doc_id: str, *, is_paused: bool) -> bool:
        """Pause or resume a document; return whether it is being indexed."""
        statement = """UPDATE documents SET is_paused = ?
            WHERE collection = ? AND doc_id = ? AND state IN ('queued', 'words')"""
        return self._registry.change(statement, is_paused, self._collection, doc_id) > 0

    def counts(self) -> dict[DocumentState, int]:
        """Return the number of documents by state."""
        query = f"SELECT state, count(*) FROM documents WHERE collection = ? AND state IN ({_STATES}) GROUP BY state"  # noqa: S608 - constants
        return {
            DocumentState(state): n_documents for state, n_documents in self._registry.rows(query, self._collection)
        }

    @contextlib.contextmanager
    def replacing(self, doc_id: str) -> Iterator[Replacement]:
        """Yield a transaction that replaces a document, while no other writer can change anything.

        Raises:
            ConflictError: the collection is being deleted.
        """
        with self._registry.writing() as connection:
            row = connection.execute(_SELECT_IS_DELETING, (self._collection,)).fetchone()
            if self._collection != DEFAULT and (row is None or row[0]):
                raise ConflictError(
                    f"the collection '{self._collection}' is being deleted", hint="send it to another collection"
                )
            yield Replacement(connection, self._collection, doc_id)

    def store_progress(self, progress: Sequence[DocumentProgress]) -> None:
        """Store the progress of documents, except those that were sent again or are being deleted."""
        rows = [
            (update.state, update.message, update.n_chunks, self._collection, update.doc_id, update.version)
            for update in progress
        ]
        with self._registry.writing() as connection:
            connection.executemany(
                """UPDATE documents SET state = ?, message = ?, n_chunks = ?
                   WHERE collection = ? AND doc_id = ? AND version = ? AND state <> 'deleting'""",
                rows,
            )
            connection.executemany(
                """DELETE FROM replaced WHERE (collection, doc_id) IN
                   (SELECT collection, doc_id FROM documents WHERE collection = ? AND doc_id = ? AND version = ?)""",
                [(self._collection, update.doc_id, update.version) for update in progress],
            )

    def queue_again(self, doc_ids: Sequence[str] | None = None) -> None:
        """Queue indexed documents again: these, or all."""
        condition = "" if doc_ids is None else "AND doc_id IN (SELECT value FROM json_each(?))"
        arguments = () if doc_ids is None else (json.dumps(list(doc_ids)),)
        self._registry.change(
            f"""UPDATE documents SET state = 'queued' WHERE collection = ?
                AND state IN ('words', 'complete') {condition}""",  # noqa: S608 - constants
            *(self._collection, *arguments),
        )

    def mark_deleting(self, doc_id: str) -> bool:
        """Mark a document as being deleted; return whether there is one."""
        statement = "UPDATE documents SET state = 'deleting' WHERE collection = ? AND doc_id = ?"
        return self._registry.change(statement, self._collection, doc_id) > 0

    @contextlib.contextmanager
    def removing(self, doc_id: str) -> Iterator[bool]:
        """Delete the row of a document being deleted, when the block that removes its original ends.

        Yields whether there is one: others may have deleted it, and it may have been sent again.
        """
        with self._registry.writing() as connection:
            cursor = connection.execute(
                "DELETE FROM documents WHERE collection = ? AND doc_id = ? AND state = 'deleting'",
                (self._collection, doc_id),
            )
            exists = cursor.rowcount > 0
            if exists:
                key = (self._collection, doc_id)
                connection.execute("DELETE FROM replaced WHERE collection = ? AND doc_id = ?", key)
            yield exists

    def _select_documents(self, condition: str, *values: object) -> list[StoredDocument]:
        rows = self._registry.rows(f"{_SELECT} {condition}", self._collection, *values)
        return list(parse_intact_rows(parse_document, rows))


class Replacement:
    """A write transaction of the registry that inserts one document."""

    def __init__(self, connection: sqlite3.Connection, collection: str, doc_id: str) -> None:
        self._connection = connection
        self._key = (collection, doc_id)
        row = connection.execute(
            f"SELECT {COLUMNS} FROM documents WHERE collection = ? AND doc_id = ?",  # noqa: S608 - constants
            self._key,
        ).fetchone()
        self.before = None if row is None else parse_document(row)
        """The current row of the document."""

        replaced = connection.execute(
            "SELECT document FROM replaced WHERE collection = ? AND doc_id = ?", self._key
        ).fetchone()
        self.searchable = None if replaced is None else parse_replaced_document(*self._key, replaced[0])
        """The searchable version of the document, until the new one is searchable."""

    def put(self, document: StoredDocument) -> StoredDocument:
        """Insert the document, and return it with its new version."""
        before = self.before
        if before is not None:
            document = document._replace(
                version=before.version + 1, added_at=before.added_at, cancelled=before.cancelled
            )
            if before.state in SEARCHABLE_STATES:
                row = (*self._key, json.dumps(list(before), ensure_ascii=False))
                self._connection.execute("INSERT OR REPLACE INTO replaced VALUES (?, ?, ?)", row)
            elif before.state is not DocumentState.QUEUED:
                self._connection.execute("DELETE FROM replaced WHERE collection = ? AND doc_id = ?", self._key)
        self._write(document)
        return document

    def restore_replaced(self) -> StoredDocument:
        """Restore the searchable version of a document in place of the new one; it is read again."""
        assert self.before is not None  # noqa: S101 - the caller has checked both
        assert self.searchable is not None  # noqa: S101
        version = self.before.version
        document = self.searchable._replace(
            version=version + 1, state=DocumentState.QUEUED, is_paused=False, cancelled=version
        )
        self._write(document)
        return document

    def _write(self, document: StoredDocument) -> None:
        self._connection.execute(f"INSERT OR REPLACE INTO documents ({COLUMNS}) VALUES ({_PLACEHOLDERS})", document)  # noqa: S608


def parse_replaced_document(collection: str, doc_id: str, stored: object) -> StoredDocument:
    """Parse the row of a replaced document."""
    document = parse_document(parse_stored("replaced.document", parse_list, stored))
    if (document.collection, document.doc_id) != (collection, doc_id):
        raise DamagedValueError("replaced.document")
    return document


SEARCHABLE_STATES: Final = frozenset({DocumentState.WORDS, DocumentState.COMPLETE})
"""The states in which a document is searchable."""

_PLACEHOLDERS: Final = ", ".join("?" * len(StoredDocument._fields))


class StoredDescriptions(NamedTuple):
    """The descriptions in the registry at a path; it is sent to worker processes, so it opens files lazily.

    `directory` holds the documents of the collection.
    """

    registry: str
    collection: str
    directory: FilePath

    def of(self, path: FilePath) -> Description | None:
        """Return the sender's description of a document; without the title for a member of one."""
        doc_id = doc_id_of(path, self.directory)
        if doc_id is None:
            return None
        registry = Registry(Path(self.registry))
        try:
            document = Documents(registry, self.collection).get(doc_id)
        finally:
            registry.close()
        if document is None:
            return None
        metadata = supported_metadata(document.sender_metadata())
        if containers_around(path):
            return Description(metadata=metadata)
        return Description(document.title, metadata, is_fetched=document.source is DocumentSource.URL)


def supported_metadata(sent: Mapping[str, Any]) -> Metadata:
    """Return the metadata fields that the index supports."""
    fields: dict[str, Any] = {}
    for name, field in _FIELDS.items():
        values = _texts_in(sent.get(name))
        if values:
            fields[field] = values if field in _LIST_FIELDS else values[0]
    return Metadata(**fields)


def _texts_in(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(item.strip() for item in values if isinstance(item, str) and item.strip())


_LIST_FIELDS: Final = frozenset({"authors", "tags", "sender", "recipients", "copied"})
_FIELDS: Final = {
    "author": "authors",
    "authors": "authors",
    "tag": "tags",
    "tags": "tags",
    "created": "created",
    "modified": "modified",
    "lang": "language",
    "language": "language",
    "subject": "subject",
    "from": "sender",
    "to": "recipients",
    "cc": "copied",
}
"""The names that senders use for the fields of the index."""
