"""Deletion of collections: hidden from clients first, then removed from the disk once nobody writes to them."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from directory_indexer.app import App
from directory_indexer.collections.collections import CollectionApp
from directory_indexer.config.collections import CollectionName, collection_directory, team_directory
from directory_indexer.indexing.runs import hold_write_lock
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.registry.collections import CollectionRows

_DELETED_PREFIX: Final = "gone-"
"""The prefix of directories of deleted collections until they are removed."""


def remove(around: App, name: CollectionName, seconds: float | None = None) -> None:
    """Remove the remains of a collection being deleted; repeating it does no harm.

    Raises:
        LockedError: another writer held it for `seconds`.
    """
    data_dir = around.loaded.data_dir
    place = collection_directory(data_dir, name)
    if place.is_dir():
        app = CollectionApp(around, name)
        with contextlib.closing(app), _exclusive_access(app, seconds):
            app.vectorstores.clear()
            gone = team_directory(data_dir) / f"{_DELETED_PREFIX}{name}-{secrets.token_hex(4)}"
            os.replace(place, gone)
        shutil.rmtree(gone, ignore_errors=True)
    CollectionRows(around.registry).remove(name)


def remove_unknown(data_dir: Path, known: Collection[str]) -> None:
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
