"""Collections: separate indexes in one data directory, which share only the model, opened up to a limit.

In this room are also the documents that are sent to them, and their backups. A deleted collection is hidden from
clients first, and removed from the disk once nobody writes to it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.app import App
from directory_indexer.config import (
    DEFAULT,
    CollectionName,
    collection_directory,
    collection_name,
    config_of_collection,
    documents_directory,
    team_directory,
)
from directory_indexer.core.errors import ConflictError, NotIndexedError, StoreError, UsageError
from directory_indexer.core.kept_files import directory_mode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import describe_invalid_character
from directory_indexer.storage.documents.statistics import IndexSummary

with lazily:
    import secrets
    import shutil

    from directory_indexer.collections.originals import Originals
    from directory_indexer.collections.queue import IndexingQueue
    from directory_indexer.embedding.loading import Embedders
    from directory_indexer.indexing.runs import hold_write_lock
    from directory_indexer.integrations.converting.fetching import Fetch, fetch_changed
    from directory_indexer.storage.documents.runs import Outcome
    from directory_indexer.storage.registry import CollectionRow, CollectionRows, Registry
    from directory_indexer.storage.registry.documents import Documents
    from directory_indexer.storage.registry.stored_documents import DocumentState


_DELETED_PREFIX: Final = "gone-"
"""The prefix of directories of deleted collections until they are removed."""

_MAX_DESCRIPTION: Final = 2000
_MAX_QUOTED_CHARS: Final = 80

_MAX_OPEN: Final = 64
"""Each takes four descriptors, and up to three megabytes."""

CollectionKey = tuple[CollectionName, float]
"""The name and creation time of a collection: another one of the same name may follow a deleted one."""


class Collection(NamedTuple):
    """The state of a collection; `documents` counts sent documents by state."""

    name: CollectionName
    description: str
    created_at: float | None
    """Seconds since the epoch; None for the default collection."""

    index: IndexSummary  # type: ignore[assignment]  # not the method of tuples
    documents: dict[DocumentState, int]


class Collections:
    """The collections of one data directory; threads may share them.

    `app` is the index of the data directory itself, which is the collection `default`.

    Raises:
        NotIndexedError: from every method that takes a name, when there is no collection of that name.
    """

    def __init__(self, app: App) -> None:
        self.app = app
        self._pool = OpenCollections()

    def names(self) -> list[CollectionName]:
        """Return the names of all collections, the default one first."""
        return [
            DEFAULT,
            *(row.name for row in self._collection_rows.all() if not row.is_deleting and row.name != DEFAULT),
        ]

    @contextlib.contextmanager
    def opened(self, name: str) -> Iterator[OpenCollection]:
        """Yield a collection, opened if necessary, which stays open until the block ends."""
        key = self.key(name)
        with self._pool.borrow(key, lambda: self._open_collection(key[0])) as opened:
            try:
                yield opened
            except StoreError as error:
                if key != self.key(name):  # which raises if it was deleted
                    raise collection_not_found(name) from error
                raise

    def app_of(self, name: str) -> App:
        """Return the index of a collection, for a process that uses no other one."""
        with self.opened(name) as opened:
            return opened.app

    def fetch(self, *, allow_private: bool = False) -> Fetch:
        """Return a function that fetches documents from the configured destinations."""
        return partial(fetch_changed, destinations=self.app.policies.destinations(allow_private=allow_private))

    def create(self, name: str, *, description: str = "", if_missing: bool = False) -> CollectionName:
        """Create a collection.

        Raises:
            UsageError: the name is invalid.
            ConflictError: there is a collection of that name.
        """
        checked = collection_name(name)
        _require_description(description)
        row = self._collection_rows.get(checked)
        if row is not None and row.is_deleting:
            raise ConflictError(f"the collection '{checked}' is being deleted", hint="try again when it is gone")
        if checked == DEFAULT or not self._collection_rows.add(checked, description=description):
            if if_missing:
                return checked
            raise ConflictError(f"the collection '{checked}' exists already", hint="choose another name")
        return checked

    def describe(self, name: str, description: str) -> None:
        """Change the description of a collection."""
        row = self._find_row(name)
        _require_description(description)
        if row.name == DEFAULT:
            self._collection_rows.add(DEFAULT, description="")
        self._collection_rows.describe(row.name, description)

    def list(self) -> list[Collection]:
        """Return the state of all collections."""
        return [self.get(name) for name in self.names()]

    def get(self, name: str) -> Collection:
        """Return the state of a collection."""
        row = self._find_row(name)
        summary = IndexSummary()
        with self.opened(name) as opened:
            if opened.app.loaded.config.storage.sqlite_path.exists():
                with opened.app.docstore.snapshot() as snapshot:
                    summary = snapshot.overview.summary()
            return Collection(opened.name, row.description, row.created_at or None, summary, opened.documents.counts())

    def delete(self, name: str, *, seconds: float | None = None) -> None:
        """Delete a collection with its contents: at once for clients, then from the disk.

        Raises:
            UsageError: it is the default collection.
            LockedError: another writer held it for `seconds`; `finish_deletions` completes the deletion.
        """
        row = self._find_row(name)
        if row.name == DEFAULT:
            raise UsageError("the collection 'default' cannot be deleted", hint="dirindex forget PATH empties it")
        self._collection_rows.mark_deleting(row.name)
        self._pool.drop(row.name)
        _remove_deleted_collection(self.app, row.name, seconds)

    def finish_deletions(self) -> None:
        """Remove deleted collections from the disk."""
        for row in self._collection_rows.all():
            if row.is_deleting and row.name != DEFAULT:
                self._pool.drop(row.name)
                _remove_deleted_collection(self.app, row.name)

    def recover(self) -> None:
        """Complete the interrupted work of earlier processes."""
        self.finish_deletions()
        if self._collection_rows.are_intact():
            _remove_unknown_directories(
                self.app.loaded.data_dir, {DEFAULT, *(row.name for row in self._collection_rows.all())}
            )
        for name in self.names():
            with self.opened(name) as opened:
                opened.queue.recover()

    def close(self) -> None:
        """Close all collections; the index of the data directory stays open."""
        self._pool.close()

    @cached_property
    def _collection_rows(self) -> CollectionRows:
        return CollectionRows(self.app.registry)

    def key(self, name: str) -> CollectionKey:
        """Return a key that distinguishes successive collections of the same name."""
        if name == DEFAULT:
            return DEFAULT, 0.0
        row = self._find_row(name)
        return row.name, row.created_at

    def _find_row(self, name: str) -> CollectionRow:
        row = self._collection_rows.get(name)
        if name == DEFAULT:
            return CollectionRow(DEFAULT, row.description if row else "", 0.0)
        if row is None or row.is_deleting:
            raise collection_not_found(name)
        return row

    def _open_collection(self, name: CollectionName) -> OpenCollection:
        app = self.app
        if name != DEFAULT:
            collection_directory(self.app.loaded.data_dir, name).mkdir(
                mode=directory_mode(), parents=True, exist_ok=True
            )
            app = CollectionApp(self.app, name)
        return OpenCollection(name, app, self.app.registry)


def collection_not_found(name: str) -> NotIndexedError:
    """Return the error about a missing collection."""
    return NotIndexedError(
        f"there is no collection '{name[:_MAX_QUOTED_CHARS]}'",
        hint="dirindex collection list shows which there are; dirindex collection create makes one",
    )


class OpenCollection:
    """An open collection: its index, its documents, and the lock of its writers."""

    def __init__(self, name: CollectionName, app: App, registry: Registry) -> None:
        self.name = name
        self.app = app
        self._registry = registry
        self.n_users = 0

    @cached_property
    def documents(self) -> Documents:
        """The documents sent to it."""
        return Documents(self._registry, self.name)

    @cached_property
    def originals(self) -> Originals:
        """The documents as they were sent."""
        return Originals(documents_directory(self.app.loaded.data_dir, self.name))

    @cached_property
    def queue(self) -> IndexingQueue:
        """The documents that are not searchable yet."""
        return IndexingQueue(
            self.documents, self.originals, lambda: self.app.runs.sent_files, lambda: self.app.docstore
        )


class CollectionApp(App):
    """The index of a collection; the model and the registry are those of the data directory."""

    def __init__(self, around: App, name: CollectionName) -> None:
        super().__init__(config_of_collection(around.loaded, name))
        self._around = around
        self.origin = around.origin

    @cached_property
    def embedders(self) -> Embedders:
        """The embedders, shared by all collections."""
        return self._around.embedders

    @cached_property
    def registry(self) -> Registry:
        """The registry, shared by all collections."""
        return self._around.registry

    def close(self) -> None:
        """Close what is not shared."""
        for shared in ("embedders", "registry"):
            vars(self).pop(shared, None)
        super().close()


class OpenCollections:
    """The open collections; threads may share them. The default one belongs to the caller that opened its index."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[CollectionKey, OpenCollection] = OrderedDict()

    @contextlib.contextmanager
    def borrow(self, key: CollectionKey, open_it: Callable[[], OpenCollection]) -> Iterator[OpenCollection]:
        """Yield a collection, which stays open while it is used."""
        with self._lock:
            opened = self._open.pop(key, None) or open_it()
            self._open[key] = opened
            opened.n_users += 1
            self._close_idle(_MAX_OPEN)
        try:
            yield opened
        finally:
            with self._lock:
                opened.n_users -= 1
                if not opened.n_users and self._open.get(key) is not opened:
                    _close_collection(opened)

    def drop(self, name: CollectionName) -> None:
        """Close a collection that is being removed, or leave that to its last user."""
        with self._lock:
            for key in [key for key in self._open if key[0] == name]:
                opened = self._open.pop(key)
                if not opened.n_users:
                    _close_collection(opened)

    def close(self) -> None:
        """Close all collections that are not in use."""
        with self._lock:
            self._close_idle(0)

    def count(self) -> int:
        """Return the number of open collections."""
        return len(self._open)

    def _close_idle(self, n_kept: int) -> None:
        """Close collections that are not in use, least recently used first."""
        for key, opened in list(self._open.items()):
            if len(self._open) > n_kept and not opened.n_users:
                _close_collection(self._open.pop(key))


def _require_description(description: str) -> None:
    if invalid := describe_invalid_character(description):
        raise UsageError(f"the description contains {invalid}", hint="write it in UTF-8")
    if len(description) > _MAX_DESCRIPTION:
        raise UsageError(f"the description has more than {_MAX_DESCRIPTION:,} characters", hint="give a shorter one")


def _close_collection(opened: OpenCollection) -> None:
    if opened.name != DEFAULT:
        opened.app.close()


def _remove_deleted_collection(around: App, name: CollectionName, seconds: float | None = None) -> None:
    """Remove the remains of a collection being deleted; repeating it does no harm.

    Raises:
        LockedError: another writer held it for `seconds`.
    """
    data_dir = around.loaded.data_dir
    place = collection_directory(data_dir, name)
    if place.is_dir():
        app = CollectionApp(around, name)
        with contextlib.closing(app), _exclusive_access(app, seconds):
            app.vectors.stores.clear()
            gone = team_directory(data_dir) / f"{_DELETED_PREFIX}{name}-{secrets.token_hex(4)}"
            os.replace(place, gone)
        shutil.rmtree(gone, ignore_errors=True)
    CollectionRows(around.registry).remove(name)


def _remove_unknown_directories(data_dir: Path, known: Container[str]) -> None:
    """Remove directories of deleted collections: a process that had one open may have recreated its database.

    A directory with originals was not deleted: the registry has lost it.
    """
    around = team_directory(data_dir)
    places = (place for place in around.glob("collections/*") if place.name not in known)
    unknown = (place for place in places if not (place / "documents").exists())
    for place in (*around.glob(f"{_DELETED_PREFIX}*"), *unknown):
        shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def _exclusive_access(app: App, seconds: float | None) -> Iterator[None]:
    """Wait until nobody writes to an index, and block new writers."""
    give_up_at = None if seconds is None else time.monotonic() + seconds

    def stop_reason() -> Outcome | None:
        return Outcome.OUT_OF_TIME if give_up_at is not None and time.monotonic() >= give_up_at else None

    with hold_write_lock(app.docstore, app.lock_path, stop_reason=stop_reason):
        yield
