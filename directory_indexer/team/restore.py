"""Restores a backup: all of it is copied beside its place first, and then put there.

What puts it there is written down before, so a restore that is cut off is completed by the next one.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from directory_indexer.app import App
from directory_indexer.config.collections import CollectionName, collection_name, of_collection, team_directory
from directory_indexer.databases.copying import log_ahead, require_whole
from directory_indexer.errors import ConsentNeededError, StoreError, UsageError
from directory_indexer.lock import write_lock
from directory_indexer.permissions import confine, directory_mode
from directory_indexer.policies import PAGES_NAME
from directory_indexer.registry.stored_documents import State
from directory_indexer.team.backup import CONFIGURATION, FORMAT, MANIFEST
from directory_indexer.team.collections import Collections
from directory_indexer.vectorstore import VectorPlace

_JOURNAL: Final = "restore.json"
_PARTS: Final = ("data.db", PAGES_NAME, "qdrant", "team", CONFIGURATION)
_BESIDE: Final = ("-wal", "-shm")


class RestoreReport(NamedTuple):
    """What was restored."""

    made_at: str
    n_collections: int
    n_documents: int
    n_read_again: int
    """Documents that the index did not know as they are, and that were read again."""

    has_vectors: bool
    """False where vectors lie on a Qdrant server: dirindex index makes them again."""


class _Move(NamedTuple):
    """One thing to be put into its place, empty if only what is there must go; that goes to `aside` first."""

    staged: str
    place: str
    aside: str


def restore(app: App, source: Path, *, may_replace: bool, tell: Callable[[str], None]) -> RestoreReport:
    """Put a backup into the place of a data directory, which must be empty unless it may be replaced.

    Raises:
        UsageError: the source is not a backup.
        ConsentNeededError: there is an index, and it must not be replaced.
        LockedError: an index run is going on.
        StoreError: the backup is damaged, or something cannot be written.
    """
    data_dir = app.loaded.data_dir
    data_dir.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
    _complete_moves(data_dir)
    source = Path(os.path.abspath(os.path.expanduser(source)))
    manifest = _checked(source)
    places = _places(app)
    for place in places.values():
        for left in place.parent.glob(f".{glob.escape(place.name)}.restoring-*"):
            _remove(left)
    taken = [place for place in places.values() if _is_taken(place)]
    if taken and not may_replace:
        raise ConsentNeededError(
            f"'{taken[0]}' is there already", hint="add --replace to put the backup into its place, or use --data-dir"
        )
    token = secrets.token_hex(4)
    try:
        with contextlib.ExitStack() as stack:
            for lock_path in _lock_paths(app) if taken else ():
                stack.enter_context(write_lock(lock_path, wait=False))
            tell("copying the backup")
            moves = _stage(source, manifest, places, token)
            _write_journal(data_dir, moves)
            app.close()
            _complete_moves(data_dir)
    except OSError as error:
        raise StoreError(f"the backup cannot be restored: {error}", hint="free some disk space") from error
    finally:
        for place in places.values():
            _remove(_staged(place, token))
    return _made_ready(App(app.loaded), manifest, tell)


def _checked(source: Path) -> dict[str, Any]:
    """Read what a backup says of itself, and look whether all of it is there."""
    try:
        manifest = json.loads((source / MANIFEST).read_text(encoding="utf-8"))
        files = {str(name): int(size) for name, size in manifest["files"].items()}
        collections = [collection_name(str(name)) for name in manifest["collections"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
        raise UsageError(f"'{source}' is not a backup", hint="name a directory that dirindex backup wrote") from error
    if manifest.get("format") != FORMAT:
        raise UsageError(f"'{source}' was written by a newer dirindex", hint="upgrade dirindex")
    for name, size in files.items():
        parts = PurePosixPath(name).parts
        path = source / name
        if name.startswith("/") or ".." in parts or "\\" in name or not parts or parts[0] not in _PARTS:
            raise StoreError(f"'{source}' names a file outside of it: '{name}'", hint="take another backup")
        if path.is_symlink() or not path.is_file() or path.stat().st_size != size:
            raise StoreError(f"'{path}' is not as it was backed up", hint="take another backup")
        if name.endswith(".db"):
            require_whole(path)
    return {"files": files, "collections": collections, "made_at": str(manifest.get("made_at", ""))}


def _places(app: App) -> dict[str, Path]:
    storage, data_dir = app.loaded.config.storage, app.loaded.data_dir
    return {
        "data.db": storage.sqlite_path,
        PAGES_NAME: storage.sqlite_path.with_name(PAGES_NAME),
        "qdrant": storage.qdrant.path,
        "team": team_directory(data_dir),
        CONFIGURATION: data_dir / CONFIGURATION,
    }


def _is_taken(place: Path) -> bool:
    if place.name == CONFIGURATION:
        return False  # what is configured now stays
    return any(place.iterdir()) if place.is_dir() else os.path.lexists(place)


def _lock_paths(app: App) -> Iterator[Path]:
    collections = Collections(app)
    for name in collections.names():
        lock_path = of_collection(app.loaded, name).config.storage.sqlite_path.with_name("write.lock")
        if lock_path.parent.is_dir():
            yield lock_path
    collections.close()


def _stage(source: Path, manifest: dict[str, Any], places: dict[str, Path], token: str) -> list[_Move]:
    """Copy the backup beside where it goes; what it does not have goes as well."""
    staged: set[str] = set()
    for name in manifest["files"]:
        part, *rest = PurePosixPath(name).parts
        staged.add(part)
        target = _staged(places[part], token).joinpath(*rest)
        target.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        shutil.copy2(source / name, target)
        confine(target)
        if name.endswith(".db"):
            log_ahead(target)
        _flush(target)
    moves = [
        _Move(str(_staged(place, token)) if part in staged else "", str(place), str(_staged(place, f"{token}-old")))
        for part, place in places.items()
        if not (part == CONFIGURATION and place.exists())
    ]
    beside = [places[part].with_name(places[part].name + end) for part in ("data.db", PAGES_NAME) for end in _BESIDE]
    return [*(_Move("", str(one), str(_staged(one, f"{token}-old"))) for one in beside), *moves]


def _staged(place: Path, token: str) -> Path:
    return place.with_name(f".{place.name}.restoring-{token}")


def _write_journal(data_dir: Path, moves: list[_Move]) -> None:
    draft = data_dir / f".{_JOURNAL}"
    draft.write_text(json.dumps([move._asdict() for move in moves]), encoding="utf-8")
    _flush(draft)
    draft.replace(data_dir / _JOURNAL)
    _flush(data_dir)


def _complete_moves(data_dir: Path) -> None:
    """Do what is written down of a restore; doing it again does no harm."""
    journal = data_dir / _JOURNAL
    if not journal.exists():
        return
    moves = [_Move(**move) for move in json.loads(journal.read_text(encoding="utf-8"))]
    for staged, place, aside in moves:
        is_staged = bool(staged) and os.path.lexists(staged)
        # What is there is the old one as long as the new one waits, or none is to come.
        if (is_staged or not staged) and os.path.lexists(place) and not os.path.lexists(aside):
            os.replace(place, aside)
        if is_staged:
            os.replace(staged, place)
    journal.unlink()
    for move in moves:
        _remove(Path(move.aside))


def _made_ready(app: App, manifest: dict[str, Any], tell: Callable[[str], None]) -> RestoreReport:
    """Let every index know its documents where they are now."""
    collections = Collections(app)
    has_vectors = app.vectorstores.place is VectorPlace.EMBEDDED
    n_documents = n_read_again = 0
    for name in collections.names():
        with collections.using(name) as opened:
            if not has_vectors and opened.app.loaded.config.storage.sqlite_path.exists():
                _start_vectors_over(opened.app)
            n_here = sum(opened.documents.counts().values())
            if n_here:
                tell(f"looking at the documents of the collection '{name}'")
                opened.queue.recover()
                opened.queue.reconcile()
                n_read_again += len(opened.documents.in_state(State.QUEUED))
                opened.queue.index_words()
            n_documents += n_here
    names: list[CollectionName] = manifest["collections"]
    collections.close()
    return RestoreReport(manifest["made_at"], len(names), n_documents, n_read_again, has_vectors)


def _start_vectors_over(app: App) -> None:
    """Let an index be another one than that which was backed up, for both may use one server."""
    with write_lock(app.lock_path, wait=True), app.docstore.transaction() as transaction:
        transaction.vector_sets.start_over()
        transaction.meta.forget("index_id")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    with contextlib.suppress(PermissionError):  # Windows opens no directories
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
