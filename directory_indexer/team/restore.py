"""Restores a backup: all of it is copied beside its place first, examined, and then put there.

A backup is data, not a program: nothing in it decides where files are written or removed, and settings and keys are
taken only with consent. What puts it into its place is written down before, so a restore that is cut off is completed
by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.app import App
from directory_indexer.config.collections import DEFAULT, of_collection, team_directory
from directory_indexer.errors import ConsentNeededError, StoreError
from directory_indexer.lock import write_lock
from directory_indexer.nofollow import create_file
from directory_indexer.paths import FilePath, file_path
from directory_indexer.permissions import directory_mode, file_mode
from directory_indexer.policies import PAGES_NAME
from directory_indexer.registry.keys import Key, Keys
from directory_indexer.registry.operations import Operations
from directory_indexer.registry.store import Registry
from directory_indexer.registry.stored_documents import State
from directory_indexer.team.collections import Collections
from directory_indexer.team.incoming import incoming_keys, incoming_settings, key_line
from directory_indexer.team.manifest import CONFIGURATION, DATABASE, REGISTRY, VECTORS, BackupFile, Manifest
from directory_indexer.team.opened import OpenCollection
from directory_indexer.team.staging import BackupSource, examine, place_in
from directory_indexer.vectorstore import VectorPlace

_JOURNAL: Final = "restore.json"
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_TEAM: Final = "team"
_BESIDE: Final = ("-wal", "-shm")
_TOKEN: Final = re.compile(r"[0-9a-f]{8}")


class RestoreOptions(NamedTuple):
    """The permissions of a restore.

    `accepts_settings` says whether it takes settings and keys that need consent, or leaves them out; with None it takes
    nothing if there are any.
    """

    may_replace: bool = False
    accepts_settings: bool | None = None


class RestoreReport(NamedTuple):
    """What was restored."""

    made_at: str
    n_collections: int
    n_documents: int
    n_read_again: int
    """Documents that the index did not know as they are, and that were read again."""

    has_vectors: bool
    """False where vectors lie on a Qdrant server: dirindex index makes them again."""

    left_out: tuple[str, ...]
    """A line for each setting and key that was not taken."""

    directories: tuple[FilePath, ...]
    """The directories that the indexes track: the next run reads what lies there on this machine."""


class _Move(NamedTuple):
    """One thing to be put into its place, empty if only what is there must go; that goes to `aside` first."""

    staged: str
    place: str
    aside: str


class _Staging(NamedTuple):
    """A restore that goes on: its backup, the places of the parts, and the token in the names of its copies."""

    source: BackupSource
    manifest: Manifest
    places: Mapping[str, Path]
    token: str

    def staged(self, part: str) -> Path:
        """Return where a part is copied to first."""
        return _beside(self.places[part], self.token)


def restore(app: App, source: Path, options: RestoreOptions, *, tell: Callable[[str], None]) -> RestoreReport:
    """Put a backup into the place of a data directory, which must be empty unless it may be replaced.

    Raises:
        UsageError: the source is not a backup.
        ConsentNeededError: there is an index, and it must not be replaced; or settings or keys need consent.
        LockedError: an index run is going on.
        StoreError: the backup is damaged, holds what dirindex does not write, or something cannot be written.
    """
    data_dir = Path(os.path.realpath(app.loaded.data_dir))
    data_dir.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
    places = _places(app)
    _complete_moves(data_dir, places)
    with BackupSource(source) as opened:
        staging = _Staging(opened, opened.manifest(), places, secrets.token_hex(4))
        _remove_leftovers(places)
        taken = [place for place in places.values() if _is_taken(place)]
        if taken and not options.may_replace:
            hint = "add --replace to put the backup into its place, or use --data-dir"
            raise ConsentNeededError(f"'{taken[0]}' is there already", hint=hint)
        try:
            with contextlib.ExitStack() as stack:
                for lock_path in _lock_paths(app) if taken else ():
                    stack.enter_context(write_lock(lock_path, wait=False))
                left_out = _stage(staging, app, options, tell)
                _write_journal(data_dir, _moves(staging))
                app.close()
                _complete_moves(data_dir, places)
        except OSError as error:
            hint = (
                "free some disk space"
                if error.errno in _NO_ROOM
                else "check what is at that place, and who may write there"
            )
            raise StoreError(f"the backup cannot be restored: {error}", hint=hint) from error
        finally:
            for part in places:
                _remove(staging.staged(part))
    return _made_ready(App(app.loaded), staging.manifest, left_out, tell)


def _places(app: App) -> dict[str, Path]:
    storage, data_dir = app.loaded.config.storage, app.loaded.data_dir
    places = {
        DATABASE: storage.sqlite_path,
        PAGES_NAME: storage.sqlite_path.with_name(PAGES_NAME),
        VECTORS: storage.qdrant.path,
        _TEAM: team_directory(data_dir),
        CONFIGURATION: data_dir / CONFIGURATION,
    }
    # The user may have put links on the way to them; whoever could put one there later is not followed.
    return {part: Path(os.path.realpath(place.parent), place.name) for part, place in places.items()}


def _remove_leftovers(places: Mapping[str, Path]) -> None:
    for place in places.values():
        for left in place.parent.glob(f".{glob.escape(place.name)}.restoring-*"):
            _remove(left)


def _is_taken(place: Path) -> bool:
    if place.name == CONFIGURATION:
        return False  # what is configured now stays
    return any(place.iterdir()) if place.is_dir() else os.path.lexists(place)


def _lock_paths(app: App) -> Iterator[Path]:
    collections = Collections(app)
    names = [DEFAULT]
    with contextlib.suppress(StoreError):  # what is damaged may be what is to be replaced
        names = collections.names()
    for name in names:
        lock_path = of_collection(app.loaded, name).config.storage.sqlite_path.with_name("write.lock")
        if lock_path.parent.is_dir():
            yield lock_path
    collections.close()


def _stage(staging: _Staging, app: App, options: RestoreOptions, tell: Callable[[str], None]) -> tuple[str, ...]:
    """Copy the backup beside where it goes, and return what of it is left out.

    What needs consent comes first, for all else may take hours.

    Raises:
        ConsentNeededError: there is something that needs it, and nobody has said whether it is taken.
    """
    tell("copying the backup")
    copied_first = [name for name in staging.manifest.files if name in {CONFIGURATION, REGISTRY}]
    others = [name for name in staging.manifest.files if name not in {CONFIGURATION, REGISTRY}]
    registry = Registry(staging.staged(_TEAM) / "team.db")
    for name in copied_first:
        _copy(staging, name)
    lines = _settings_in_question(staging, options)
    with contextlib.closing(registry):
        keys = incoming_keys(registry, _known_keys(app)) if REGISTRY in copied_first else ()
        lines += tuple(map(key_line, keys))
        if lines and options.accepts_settings is None:
            raise ConsentNeededError(
                "\n  ".join(["the backup brings what runs commands, leads to addresses or opens the index", *lines]),
                hint="add --accept-settings to take all of it, or --leave-settings to restore everything else",
            )
        if REGISTRY in copied_first:
            Operations(registry).forget_all()  # begun elsewhere; somebody could go on with them here
            for key in () if options.accepts_settings else keys:
                Keys(registry).revoke(key.name)
    for name in others:
        _copy(staging, name)
    return () if options.accepts_settings else lines


def _known_keys(app: App) -> tuple[Key, ...]:
    try:
        return Keys(app.registry).all()
    except StoreError:  # it may be damaged, and be restored for that
        return ()


def _settings_in_question(staging: _Staging, options: RestoreOptions) -> tuple[str, ...]:
    """Describe the settings that need consent, and leave them out of the copy if they are not accepted."""
    name = BackupFile(CONFIGURATION)
    if name not in staging.manifest.files or staging.places[CONFIGURATION].exists():  # what is configured now stays
        return ()
    copy = staging.staged(CONFIGURATION)
    settings = incoming_settings(copy.read_bytes(), where=CONFIGURATION)
    if settings.others and options.accepts_settings is False:
        copy.unlink()
        _write(copy, json.dumps(settings.harmless, ensure_ascii=False, indent=2))
    return settings.others


def _copy(staging: _Staging, name: BackupFile) -> None:
    part, *rest = name.split("/")
    target = place_in(staging.staged(part), tuple(rest))
    staging.source.copy(name, staging.manifest.files[name], target)
    examine(name, target)
    _flush(target)


def _moves(staging: _Staging) -> list[_Move]:
    """Plan what goes where; what the backup does not have goes as well."""
    moves = [
        _Move(str(staged) if staged.exists() else "", str(place), str(_beside(place, f"{staging.token}-old")))
        for part, place in staging.places.items()
        if not (part == CONFIGURATION and place.exists())
        for staged in (staging.staged(part),)
    ]
    logs = [_Move("", str(log), str(_beside(log, f"{staging.token}-old"))) for log in _logs(staging.places)]
    return [*logs, *moves]


def _logs(places: Mapping[str, Path]) -> list[Path]:
    """Return the files that SQLite keeps beside databases."""
    databases = (places[DATABASE], places[PAGES_NAME])
    return [place.with_name(place.name + end) for place in databases for end in _BESIDE]


def _beside(place: Path, token: str) -> Path:
    return place.with_name(f".{place.name}.restoring-{token}")


def _write_journal(data_dir: Path, moves: list[_Move]) -> None:
    draft = data_dir / f".{_JOURNAL}"
    draft.unlink(missing_ok=True)
    _write(draft, json.dumps([move._asdict() for move in moves]))
    draft.replace(data_dir / _JOURNAL)
    _flush(data_dir)


def _complete_moves(data_dir: Path, places: Mapping[str, Path]) -> None:
    """Do what is written down of a restore; doing it again does no harm.

    Raises:
        StoreError: what is written down is not what a restore into this data directory writes.
    """
    journal = data_dir / _JOURNAL
    if not journal.exists():
        return
    moves = _parsed_moves(journal, {*map(str, places.values()), *map(str, _logs(places))})
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


def _parsed_moves(journal: Path, places: set[str]) -> list[_Move]:
    """Parse a journal: only what belongs to this data directory is moved or removed."""
    try:
        moves = [_Move(**move) for move in json.loads(journal.read_text(encoding="utf-8"))]
        are_own = all(_is_own(move, places) for move in moves)
    except (ValueError, TypeError, AttributeError, RecursionError):
        are_own = False
    if not are_own:
        hint = "move it away, and restore the backup again with --replace"
        raise StoreError(f"'{journal}' is not what a restore has written", hint=hint)
    return moves


def _is_own(move: _Move, places: set[str]) -> bool:
    if move.place not in places:
        return False
    _, _, token = move.aside.removesuffix("-old").rpartition("-")
    place = Path(move.place)
    return (
        bool(_TOKEN.fullmatch(token))
        and move.aside == str(_beside(place, f"{token}-old"))
        and move.staged in {"", str(_beside(place, token))}
    )


def _made_ready(app: App, manifest: Manifest, left_out: tuple[str, ...], tell: Callable[[str], None]) -> RestoreReport:
    """Bring every index together with its documents, which may lie in another place than when it was backed up."""
    collections = Collections(app)
    has_vectors = app.vectorstores.place is VectorPlace.EMBEDDED
    n_documents = n_read_again = 0
    tracked: set[FilePath] = set()
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
            tracked |= _tracked(opened)
    collections.close()
    return RestoreReport(
        manifest.made_at,
        len(manifest.collections),
        n_documents,
        n_read_again,
        has_vectors,
        left_out,
        tuple(sorted(tracked)),
    )


def _tracked(opened: OpenCollection) -> set[FilePath]:
    """Name the tracked directories of a collection, but for that of its documents."""
    if not opened.app.loaded.config.storage.sqlite_path.exists():
        return set()
    with opened.app.docstore.snapshot() as snapshot:
        return set(snapshot.directories.all()) - {file_path(opened.originals.directory)}


def _start_vectors_over(app: App) -> None:
    """Let an index be another one than that which was backed up, for both may use one server."""
    with write_lock(app.lock_path, wait=True), app.docstore.transaction() as transaction:
        transaction.vector_sets.start_over()
        transaction.meta.forget("index_id")


def _write(path: Path, text: str) -> None:
    with open(create_file(str(path), file_mode()), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


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
