"""The open collections of this process, up to a limit."""

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

_MAX_OPEN: Final = 64
"""Each takes four descriptors, and up to three megabytes."""

CollectionKey = tuple[CollectionName, float]
"""The name and creation time of a collection: another one of the same name may follow a deleted one."""


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
    def queue(self) -> Queue:
        """The documents that are not searchable yet."""
        return Queue(self.documents, self.originals, lambda: self.app.sent_files, lambda: self.app.docstore)


class CollectionApp(App):
    """The index of a collection; the model and the registry are those of the data directory."""

    def __init__(self, around: App, name: CollectionName) -> None:
        super().__init__(of_collection(around.loaded, name))
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
    def lent(self, key: CollectionKey, open_it: Callable[[], OpenCollection]) -> Iterator[OpenCollection]:
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
                    _close(opened)

    def drop(self, name: CollectionName) -> None:
        """Close a collection that is being removed, or leave that to its last user."""
        with self._lock:
            for key in [key for key in self._open if key[0] == name]:
                opened = self._open.pop(key)
                if not opened.n_users:
                    _close(opened)

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
                _close(self._open.pop(key))


def _close(opened: OpenCollection) -> None:
    if opened.name != DEFAULT:
        opened.app.close()
