"""The documents sent to a collection, and their states.

A row exists from the moment a document is accepted until it is removed everywhere else.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Final

from directory_indexer.config.collections import DEFAULT
from directory_indexer.databases.stored_values import intact_rows
from directory_indexer.errors import ConflictError
from directory_indexer.registry.replacements import Replacement
from directory_indexer.registry.store import Registry
from directory_indexer.registry.stored_documents import COLUMNS, Progress, State, StoredDocument, stored_document

_SELECT: Final = f"SELECT {COLUMNS} FROM documents WHERE collection = ?"  # noqa: S608 - constants
_STATES: Final = ", ".join(f"'{state}'" for state in State)
_LEAVING: Final = "SELECT is_leaving FROM collections WHERE name = ?"


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
            return None if row is None else stored_document(row)

    def get_all(self, doc_ids: Sequence[str]) -> list[StoredDocument]:
        """Return documents by id."""
        return self._read("AND doc_id IN (SELECT value FROM json_each(?))", json.dumps(list(doc_ids)))

    def all(self) -> list[StoredDocument]:
        """Return all documents, sorted by id."""
        return self._read("ORDER BY doc_id")

    def page(self, *, after: str = "", limit: int, state: State | None = None) -> list[StoredDocument]:
        """Return the next documents after an id, sorted by id: those in a state, or all but those being deleted."""
        condition = "AND doc_id > ? AND iif(? IS NULL, state <> 'deleting', state = ?) ORDER BY doc_id LIMIT ?"
        return self._read(condition, after, state, state, limit)

    def in_state(self, *states: State, limit: int = -1) -> list[StoredDocument]:
        """Return the documents in any of these states, in the order of their last change."""
        listed = ", ".join(f"'{state}'" for state in states)
        return self._read(f"AND state IN ({listed}) ORDER BY changed_at, doc_id LIMIT ?", limit)

    def to_read(self, *, limit: int) -> list[StoredDocument]:
        """Return the documents that wait to be parsed and are not paused, oldest first."""
        return self._read("AND state = 'queued' AND NOT is_paused ORDER BY changed_at, doc_id LIMIT ?", limit)

    def under_way(self, *, limit: int) -> list[StoredDocument]:
        """Return the documents that are not searchable by meaning yet, newest first."""
        return self._read("AND state IN ('queued', 'words') ORDER BY changed_at DESC, doc_id LIMIT ?", limit)

    def to_do(self) -> frozenset[State]:
        """Return the states in which documents wait for background work."""
        if not self._registry.exists():
            return frozenset()
        with self._registry.reading() as connection:
            rows = connection.raw.execute(
                """SELECT DISTINCT state FROM documents WHERE collection = ?
                   AND (state = 'deleting' OR (state IN ('queued', 'words') AND NOT is_paused))""",
                (self._collection,),
            ).fetchall()
        return frozenset(State(state) for (state,) in rows)  # limited by the condition

    def pause(self, doc_id: str, *, is_paused: bool) -> bool:
        """Pause or resume a document; return whether it is being indexed."""
        with self._registry.writing() as connection:
            cursor = connection.execute(
                """UPDATE documents SET is_paused = ?
                   WHERE collection = ? AND doc_id = ? AND state IN ('queued', 'words')""",
                (is_paused, self._collection, doc_id),
            )
            return cursor.rowcount > 0

    def counts(self) -> dict[State, int]:
        """Return the number of documents by state."""
        if not self._registry.exists():
            return {}
        with self._registry.reading() as connection:
            rows = connection.raw.execute(
                f"SELECT state, count(*) FROM documents WHERE collection = ? AND state IN ({_STATES}) GROUP BY state",  # noqa: S608 - constants
                (self._collection,),
            ).fetchall()
        return {State(state): n_documents for state, n_documents in rows}

    @contextlib.contextmanager
    def replacing(self, doc_id: str) -> Iterator[Replacement]:
        """Yield a transaction that replaces a document, while no other writer can change anything.

        Raises:
            ConflictError: the collection is being deleted.
        """
        with self._registry.writing() as connection:
            row = connection.execute(_LEAVING, (self._collection,)).fetchone()
            if self._collection != DEFAULT and (row is None or row[0]):
                raise ConflictError(
                    f"the collection '{self._collection}' is being deleted", hint="send it to another collection"
                )
            yield Replacement(connection, self._collection, doc_id)

    def note(self, progress: Sequence[Progress]) -> None:
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
        with self._registry.writing() as connection:
            connection.execute(
                f"""UPDATE documents SET state = 'queued' WHERE collection = ?
                    AND state IN ('words', 'complete') {condition}""",  # noqa: S608 - constants
                (self._collection, *arguments),
            )

    def let_leave(self, doc_id: str) -> bool:
        """Mark a document as being deleted; return whether there is one."""
        with self._registry.writing() as connection:
            cursor = connection.execute(
                "UPDATE documents SET state = 'deleting' WHERE collection = ? AND doc_id = ?",
                (self._collection, doc_id),
            )
            return cursor.rowcount > 0

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

    def _read(self, condition: str, *values: object) -> list[StoredDocument]:
        if not self._registry.exists():
            return []
        with self._registry.reading() as connection:
            rows = connection.raw.execute(f"{_SELECT} {condition}", (self._collection, *values))
            return list(intact_rows(stored_document, rows))
