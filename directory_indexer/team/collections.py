"""Collections: indexes of their own in one data directory, which share nothing but the model."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.app import App
from directory_indexer.config.collections import (
    DEFAULT,
    CollectionName,
    collection_directory,
    collection_name,
    team_directory,
)
from directory_indexer.docstore.summaries import IndexSummary
from directory_indexer.errors import ConflictError, NotIndexedError, StoreError, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.team.opened import CollectionApp, OpenCollection, OpenCollections

with lazily:
    import secrets
    import shutil

    from directory_indexer.converting.fetching import Fetch, fetch_changed
    from directory_indexer.indexing.runs import writing
    from directory_indexer.registry.collections import CollectionRow, CollectionRows
    from directory_indexer.registry.documents import State
    from directory_indexer.registry.scopes import Scopes

_MOST_DESCRIPTION: Final = 2000
_MOST_SHOWN: Final = 80


class Collection(NamedTuple):
    """How a collection stands; `documents` counts by state what was sent to it."""

    name: CollectionName
    description: str
    created_at: float | None
    """Seconds since the epoch; None for the one that was there first."""

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
    def data_dir(self) -> Path:
        """The directory that all of them lie in."""
        return self._app.loaded.data_dir

    def names(self) -> list[CollectionName]:
        """Name all collections, the one that was there first before the others."""
        return [DEFAULT, *(CollectionName(row.name) for row in self._rows.all() if not row.is_leaving)]

    @contextlib.contextmanager
    def using(self, name: str) -> Iterator[OpenCollection]:
        """Give a collection to work with, which stays open as long as somebody does.

        Raises:
            NotIndexedError: there is none of that name.
        """
        key = self._key(name)
        with self._pool.lent(key, lambda: self._opened(key[0])) as opened:
            try:
                yield opened
            except StoreError as error:
                if key != self._key(name):  # which raises where it is gone
                    raise _no_collection(name) from error
                raise

    def app_of(self, name: str) -> App:
        """Give the index of a collection, for a process that works with no other one.

        Raises:
            NotIndexedError: there is none of that name.
        """
        with self.using(name) as opened:
            return opened.app

    def fetch(self, *, allow_private: bool = False) -> Fetch:
        """Give what fetches documents from where the configuration allows."""
        return partial(fetch_changed, destinations=self._app.policies.destinations(allow_private=allow_private))

    def scope(self, name: str, scope: str) -> tuple[FilePath, ...]:
        """Give the directories that a scope of a collection names.

        Raises:
            NotIndexedError: there is no such collection, or no such scope in it.
        """
        found = Scopes(self._app.registry, self._row(name).name).all().get(scope)
        if found is None:
            raise NotIndexedError(f"there is no scope '{scope}'", hint="dirindex scope shows them")
        return found

    def scopes(self, name: str) -> Scopes:
        """Give the named scopes of a collection.

        Raises:
            NotIndexedError: there is no such collection.
        """
        return Scopes(self._app.registry, self._row(name).name)

    def create(self, name: str, *, description: str = "", if_missing: bool = False) -> CollectionName:
        """Make a collection.

        Raises:
            UsageError: the name can be none.
            ConflictError: there is one of that name.
        """
        checked = collection_name(name)
        _require_description(description)
        row = self._rows.get(checked)
        if row is not None and row.is_leaving:
            raise ConflictError(f"the collection '{checked}' is being deleted", hint="try again when it is gone")
        if checked == DEFAULT or not self._rows.add(checked, description=description):
            if if_missing:
                return checked
            raise ConflictError(f"there is a collection '{checked}' already", hint="choose another name")
        return checked

    def describe(self, name: str, description: str) -> None:
        """Say something else of a collection.

        Raises:
            NotIndexedError: there is none of that name.
        """
        row = self._row(name)
        _require_description(description)
        if row.name == DEFAULT:
            self._rows.add(DEFAULT, description="")
        self._rows.describe(row.name, description)

    def list(self) -> list[Collection]:
        """Tell how all collections stand."""
        return [self.look_at(name) for name in self.names()]

    def look_at(self, name: str) -> Collection:
        """Tell how a collection stands.

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

    def delete(self, name: str) -> None:
        """Delete a collection with all that is in it.

        Raises:
            NotIndexedError: there is none of that name.
            UsageError: it is the one that was there first.
        """
        row = self._row(name)
        if row.name == DEFAULT:
            raise UsageError("the collection 'default' cannot be deleted", hint="dirindex forget PATH empties it")
        self._rows.let_leave(row.name)
        self._finish_deletion(CollectionName(row.name))

    def recover(self) -> None:
        """Go on with what was under way in processes that are gone."""
        for row in self._rows.all():
            if row.is_leaving:
                self._finish_deletion(CollectionName(row.name))
        around = team_directory(self.data_dir)
        places = list(around.glob("collections/*"))
        known = {DEFAULT, *(row.name for row in self._rows.all())}
        for place in (*around.glob(f"{_GONE}*"), *(one for one in places if one.name not in known)):
            # Whoever had it open may have made its database anew.
            shutil.rmtree(place, ignore_errors=True)
        for name in self.names():
            with self.using(name) as opened:
                opened.queue.recover()

    def close(self) -> None:
        """Give back files, connections and memory; the index of the data directory stays open."""
        self._pool.close()

    @cached_property
    def _rows(self) -> CollectionRows:
        return CollectionRows(self._app.registry)

    def _key(self, name: str) -> tuple[CollectionName, float]:
        """Tell collections by one name apart: one may have been deleted and made again."""
        if name == DEFAULT:
            return DEFAULT, 0.0
        row = self._row(name)
        return CollectionName(row.name), row.created_at

    def _row(self, name: str) -> CollectionRow:
        row = self._rows.get(name)
        if name == DEFAULT:
            return CollectionRow(DEFAULT, row.description if row else "", 0.0)
        if row is None or row.is_leaving:
            raise _no_collection(name)
        return row

    def _opened(self, name: CollectionName) -> OpenCollection:
        app = self._app
        if name != DEFAULT:
            collection_directory(self.data_dir, name).mkdir(mode=0o700, parents=True, exist_ok=True)
            app = CollectionApp(self._app, name)
        return OpenCollection(name, app, self._app.registry)

    def _finish_deletion(self, name: CollectionName) -> None:
        """Remove what is left of a collection; doing it again does no harm."""
        place = collection_directory(self.data_dir, name)
        self._pool.drop(name)
        if place.is_dir():
            app = CollectionApp(self._app, name)
            with contextlib.closing(app), _no_writer(app):
                app.vectorstores.clear()
                gone = team_directory(self.data_dir) / f"{_GONE}{name}-{secrets.token_hex(4)}"
                os.replace(place, gone)
            shutil.rmtree(gone, ignore_errors=True)
        self._rows.remove(name)


def _no_collection(name: str) -> NotIndexedError:
    return NotIndexedError(
        f"there is no collection '{name[:_MOST_SHOWN]}'",
        hint="dirindex collection list shows which there are; dirindex collection create makes one",
    )


@contextlib.contextmanager
def _no_writer(app: App) -> Iterator[None]:
    """Wait until nobody writes to an index, and let nobody begin."""
    with writing(app.docstore, app.lock_path):
        yield


def _require_description(description: str) -> None:
    if len(description) > _MOST_DESCRIPTION:
        raise UsageError(f"the description has more than {_MOST_DESCRIPTION:,} characters", hint="give a shorter one")


_GONE: Final = "gone-"
"""What the directories of deleted collections begin with until they are removed."""
