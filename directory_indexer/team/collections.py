"""Collections: separate indexes in one data directory, which share only the model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.app import App
from directory_indexer.config import LoadedConfig
from directory_indexer.config.collections import (
    DEFAULT,
    CollectionName,
    collection_directory,
    collection_name,
)
from directory_indexer.docstore.summaries import IndexSummary
from directory_indexer.errors import ConflictError, NotIndexedError, StoreError, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import invalid_character_in
from directory_indexer.permissions import directory_mode
from directory_indexer.team.opened import CollectionApp, CollectionKey, OpenCollection, OpenCollections

with lazily:
    from directory_indexer.converting.fetching import Fetch, fetch_changed
    from directory_indexer.registry.collections import CollectionRow, CollectionRows
    from directory_indexer.registry.store import Registry
    from directory_indexer.registry.stored_documents import State
    from directory_indexer.team.deletion import remove, remove_unknown

_MOST_DESCRIPTION: Final = 2000
_MOST_SHOWN: Final = 80


class Collection(NamedTuple):
    """The state of a collection; `documents` counts sent documents by state."""

    name: CollectionName
    description: str
    created_at: float | None
    """Seconds since the epoch; None for the default collection."""

    index: IndexSummary  # type: ignore[assignment]  # not the method of tuples
    documents: dict[State, int]


class Collections:
    """The collections of one data directory; threads may share them.

    `app` is the index of the data directory itself, which is the collection `default`.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._pool = OpenCollections()

    @property
    def loaded(self) -> LoadedConfig:
        """The configuration of the default collection; the others differ in their paths."""
        return self._app.loaded

    @property
    def data_dir(self) -> Path:
        """The directory of all collections."""
        return self._app.loaded.data_dir

    def names(self) -> list[CollectionName]:
        """Return the names of all collections, the default one first."""
        return [DEFAULT, *(row.name for row in self._rows.all() if not row.is_leaving and row.name != DEFAULT)]

    @contextlib.contextmanager
    def using(self, name: str) -> Iterator[OpenCollection]:
        """Yield an open collection, which stays open while it is used.

        Raises:
            NotIndexedError: there is none of that name.
        """
        key = self.key(name)
        with self._pool.lent(key, lambda: self._open_collection(key[0])) as opened:
            try:
                yield opened
            except StoreError as error:
                if key != self.key(name):  # which raises if it was deleted
                    raise no_collection(name) from error
                raise

    def app_of(self, name: str) -> App:
        """Return the index of a collection, for a process that uses no other one.

        Raises:
            NotIndexedError: there is none of that name.
        """
        with self.using(name) as opened:
            return opened.app

    def fetch(self, *, allow_private: bool = False) -> Fetch:
        """Return a function that fetches documents from the configured destinations."""
        return partial(fetch_changed, destinations=self._app.policies.destinations(allow_private=allow_private))

    def create(self, name: str, *, description: str = "", if_missing: bool = False) -> CollectionName:
        """Create a collection.

        Raises:
            UsageError: the name is invalid.
            ConflictError: there is a collection of that name.
        """
        checked = collection_name(name)
        _require_description(description)
        row = self._rows.get(checked)
        if row is not None and row.is_leaving:
            raise ConflictError(f"the collection '{checked}' is being deleted", hint="try again when it is gone")
        if checked == DEFAULT or not self._rows.add(checked, description=description):
            if if_missing:
                return checked
            raise ConflictError(f"the collection '{checked}' exists already", hint="choose another name")
        return checked

    def describe(self, name: str, description: str) -> None:
        """Change the description of a collection.

        Raises:
            NotIndexedError: there is none of that name.
        """
        row = self._row(name)
        _require_description(description)
        if row.name == DEFAULT:
            self._rows.add(DEFAULT, description="")
        self._rows.describe(row.name, description)

    def list(self) -> list[Collection]:
        """Return the state of all collections."""
        return [self.look_at(name) for name in self.names()]

    def look_at(self, name: str) -> Collection:
        """Return the state of a collection.

        Raises:
            NotIndexedError: there is none of that name.
        """
        row = self._row(name)
        summary = IndexSummary()
        with self.using(name) as opened:
            if opened.app.loaded.config.storage.sqlite_path.exists():
                with opened.app.docstore.snapshot() as snapshot:
                    summary = snapshot.overview.summary()
            return Collection(opened.name, row.description, row.created_at or None, summary, opened.documents.counts())

    def delete(self, name: str, *, seconds: float | None = None) -> None:
        """Delete a collection with its contents: at once for clients, then from the disk.

        Raises:
            NotIndexedError: there is none of that name.
            UsageError: it is the default collection.
            LockedError: another writer held it for `seconds`; `finish_deletions` completes the deletion.
        """
        row = self._row(name)
        if row.name == DEFAULT:
            raise UsageError("the collection 'default' cannot be deleted", hint="dirindex forget PATH empties it")
        self._rows.let_leave(row.name)
        self._pool.drop(row.name)
        remove(self._app, row.name, seconds)

    def finish_deletions(self) -> None:
        """Remove deleted collections from the disk."""
        for row in self._rows.all():
            if row.is_leaving and row.name != DEFAULT:
                self._pool.drop(row.name)
                remove(self._app, row.name)

    def recover(self) -> None:
        """Complete the interrupted work of earlier processes."""
        self.finish_deletions()
        if self._rows.are_intact():
            remove_unknown(self.data_dir, {DEFAULT, *(row.name for row in self._rows.all())})
        for name in self.names():
            with self.using(name) as opened:
                opened.queue.recover()

    def close(self) -> None:
        """Close all collections; the index of the data directory stays open."""
        self._pool.close()

    @property
    def registry(self) -> Registry:
        """The registry of all collections."""
        return self._app.registry

    @cached_property
    def _rows(self) -> CollectionRows:
        return CollectionRows(self._app.registry)

    def key(self, name: str) -> CollectionKey:
        """Return a key that distinguishes successive collections of the same name.

        Raises:
            NotIndexedError: there is none of that name.
        """
        if name == DEFAULT:
            return DEFAULT, 0.0
        row = self._row(name)
        return row.name, row.created_at

    def _row(self, name: str) -> CollectionRow:
        row = self._rows.get(name)
        if name == DEFAULT:
            return CollectionRow(DEFAULT, row.description if row else "", 0.0)
        if row is None or row.is_leaving:
            raise no_collection(name)
        return row

    def _open_collection(self, name: CollectionName) -> OpenCollection:
        app = self._app
        if name != DEFAULT:
            collection_directory(self.data_dir, name).mkdir(mode=directory_mode(), parents=True, exist_ok=True)
            app = CollectionApp(self._app, name)
        return OpenCollection(name, app, self._app.registry)


def no_collection(name: str) -> NotIndexedError:
    """Return the error about a missing collection."""
    return NotIndexedError(
        f"there is no collection '{name[:_MOST_SHOWN]}'",
        hint="dirindex collection list shows which there are; dirindex collection create makes one",
    )


def _require_description(description: str) -> None:
    if invalid := invalid_character_in(description):
        raise UsageError(f"the description contains {invalid}", hint="write it in UTF-8")
    if len(description) > _MOST_DESCRIPTION:
        raise UsageError(f"the description has more than {_MOST_DESCRIPTION:,} characters", hint="give a shorter one")
