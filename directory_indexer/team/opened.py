"""Collections that this process works with, as many as it may keep open at a time."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from directory_indexer.app import App
from directory_indexer.config.collections import DEFAULT, CollectionName, documents_directory, of_collection
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.embedders.loading import Embedders
    from directory_indexer.registry.documents import Documents
    from directory_indexer.registry.store import Registry
    from directory_indexer.team.originals import Originals
    from directory_indexer.team.queue import Queue

_MOST_OPEN: Final = 64
"""Each takes four descriptors, and up to three megabytes."""

CollectionKey = tuple[CollectionName, float]
"""The name of a collection, and when it was made: one may have been deleted, and another made by its name."""


class OpenCollection:
    """A collection that this process works with: its index, what was sent to it, and who may write next."""

    def __init__(self, name: CollectionName, app: App, registry: Registry) -> None:
        self.name = name
        self.app = app
        self._registry = registry
        self.n_users = 0

    @cached_property
    def documents(self) -> Documents:
        """What was sent to it."""
        return Documents(self._registry, self.name)

    @cached_property
    def originals(self) -> Originals:
        """The documents as they were sent."""
        return Originals(documents_directory(self.app.loaded.data_dir, self.name))

    @cached_property
    def queue(self) -> Queue:
        """What was sent and is not searchable yet."""
        return Queue(self.documents, self.originals, lambda: self.app.sent_files, lambda: self.app.docstore)


class CollectionApp(App):
    """The index of a collection; the model and the registry are those of the data directory."""

    def __init__(self, around: App, name: CollectionName) -> None:
        super().__init__(of_collection(around.loaded, name))
        self._around = around
        self.origin = around.origin

    @cached_property
    def embedders(self) -> Embedders:
        """What makes vectors, for all collections."""
        return self._around.embedders

    @cached_property
    def registry(self) -> Registry:
        """What is known of all collections."""
        return self._around.registry

    def close(self) -> None:
        """Give back what is its own."""
        for shared in ("embedders", "registry"):
            vars(self).pop(shared, None)
        super().close()


class OpenCollections:
    """The open collections; threads may share them. The default one belongs to whoever opened its index."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[CollectionKey, OpenCollection] = OrderedDict()

    @contextlib.contextmanager
    def lent(self, key: CollectionKey, open_it: Callable[[], OpenCollection]) -> Iterator[OpenCollection]:
        """Give a collection, which stays open as long as somebody works with it."""
        with self._lock:
            opened = self._open.pop(key, None) or open_it()
            self._open[key] = opened
            opened.n_users += 1
            self._close_idle(_MOST_OPEN)
        try:
            yield opened
        finally:
            with self._lock:
                opened.n_users -= 1
                if not opened.n_users and self._open.get(key) is not opened:
                    _close(opened)

    def drop(self, name: CollectionName) -> None:
        """Close a collection that is to be removed, or leave that to the last who works with it."""
        with self._lock:
            for key in [key for key in self._open if key[0] == name]:
                opened = self._open.pop(key)
                if not opened.n_users:
                    _close(opened)

    def close(self) -> None:
        """Close all that nobody works with."""
        with self._lock:
            self._close_idle(0)

    def count(self) -> int:
        """Count those that are open."""
        return len(self._open)

    def _close_idle(self, n_kept: int) -> None:
        """Close those that nobody works with, the ones first that were not used for longest."""
        for key, opened in list(self._open.items()):
            if len(self._open) > n_kept and not opened.n_users:
                _close(self._open.pop(key))


def _close(opened: OpenCollection) -> None:
    if opened.name != DEFAULT:
        opened.app.close()
