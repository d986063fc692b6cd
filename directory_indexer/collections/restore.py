"""Restore of a backup: everything is copied beside its place, examined, and then moved there.

A backup is data, not a program: nothing in it decides which files are written or removed, and settings and keys are
accepted only with consent. The moves are written to a journal before, so that the next restore completes an interrupted
one.
"""

from __future__ import annotations

import contextlib
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
from directory_indexer.collections import Collections, OpenCollection
from directory_indexer.collections.backup import (
    CONFIGURATION_FILE,
    DATABASE_FILE,
    REGISTRY_FILE,
    VECTORS_DIRECTORY,
    BackupFile,
    BackupManifest,
)
from directory_indexer.collections.backup_reader import (
    BackupSource,
    describe_key,
    keys_needing_consent,
    make_parent_directories,
    parse_backup_settings,
    require_written_by_dirindex,
)
from directory_indexer.config import DEFAULT, config_of_collection, team_directory
from directory_indexer.core.errors import ConsentNeededError, StoreError
from directory_indexer.core.kept_files import directory_mode, file_mode, is_disk_full, sync_path, write_durably
from directory_indexer.core.lock import write_lock
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.core.safe_open import create_file
from directory_indexer.policies import PAGES_NAME
from directory_indexer.storage.registry import Registry
from directory_indexer.storage.registry.keys import Key, Keys
from directory_indexer.storage.registry.operations import Operations
from directory_indexer.storage.registry.stored_documents import DocumentState
from directory_indexer.storage.vectors import VectorPlace

_JOURNAL: Final = "restore.json"
_COLLECTIONS_PART: Final = "team"
_LOG_SUFFIXES: Final = ("-wal", "-shm")
_TOKEN_PATTERN: Final = re.compile(r"[0-9a-f]{8}")


class RestoreOptions(NamedTuple):
    """The permissions of a restore.

    `accepts_settings` decides whether settings and keys that need consent are accepted or left out; with None the
    restore fails if there are any.
    """

    may_replace: bool = False
    accepts_settings: bool | None = None


class RestoreReport(NamedTuple):
    """The result of a restore."""

    made_at: str
    n_collections: int
    n_documents: int
    n_read_again: int
    """Documents that were read again, as the index did not have their current version."""

    has_vectors: bool
    """False if vectors lie on a Qdrant server: dirindex index computes them again."""

    left_out: tuple[str, ...]
    """A line for each setting and key that was not accepted."""

    directories: tuple[FilePath, ...]
    """The tracked directories of the indexes: the next run reads their files on this machine."""


class _RenameStep(NamedTuple):
    """A move into place; `staged` is empty if the existing file is only removed, which goes to `aside` first."""

    staged: str
    place: str
    aside: str


class _Staging(NamedTuple):
    """A restore in progress: its backup, the places of the parts, and the token in the names of its copies."""

    source: BackupSource
    manifest: BackupManifest
    places: Mapping[str, Path]
    token: str

    def staged(self, part: str) -> Path:
        """Return the path to which a part is copied first."""
        return _path_beside(self.places[part], self.token)


def restore(
    app: App, source: Path, options: RestoreOptions, *, report_progress: Callable[[str], None]
) -> RestoreReport:
    """Replace a data directory by a backup; it must be empty unless it may be replaced.

    Raises:
        UsageError: the source is not a backup.
        ConsentNeededError: there is an index that must not be replaced; or settings or keys need consent.
        LockedError: an index run is active.
        StoreError: the backup is damaged, has contents that dirindex does not write, or a file cannot be written.
    """
    data_dir = Path(os.path.realpath(app.loaded.data_dir))
    data_dir.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
    places = _target_paths(app)
    _complete_moves(data_dir, places)
    with BackupSource(source) as opened:
        staging = _Staging(opened, opened.manifest(), places, secrets.token_hex(4))
        _remove_leftovers(places)
        occupied = [place for place in places.values() if _is_occupied(place)]
        if occupied and not options.may_replace:
            hint = "add --replace to put the backup into its place, or use --data-dir"
            raise ConsentNeededError(f"'{occupied[0]}' already exists", hint=hint)
        try:
            with contextlib.ExitStack() as stack:
                for lock_path in _lock_paths(app) if occupied else ():
                    stack.enter_context(write_lock(lock_path, wait=False))
                left_out = _copy_beside_target(staging, app, options, report_progress)
                _write_journal(data_dir, _plan_moves(staging))
                app.close()
                _complete_moves(data_dir, places)
        except OSError as error:
            hint = (
                "free some disk space"
                if is_disk_full(error)
                else "check what is at that place, and who may write there"
            )
            raise StoreError(f"the backup cannot be restored: {error}", hint=hint) from error
        finally:
            for part in places:
                _remove_path(staging.staged(part))
    return _finish_restore(App(app.loaded), staging.manifest, left_out, report_progress)


def _target_paths(app: App) -> dict[str, Path]:
    storage, data_dir = app.loaded.config.storage, app.loaded.data_dir
    places = {
        DATABASE_FILE: storage.sqlite_path,
        PAGES_NAME: storage.sqlite_path.with_name(PAGES_NAME),
        VECTORS_DIRECTORY: storage.qdrant.path,
        _COLLECTIONS_PART: team_directory(data_dir),
        CONFIGURATION_FILE: data_dir / CONFIGURATION_FILE,
    }
    # Links that the user has made are followed; links created later are not.
    return {part: Path(os.path.realpath(place.parent), place.name) for part, place in places.items()}


def _remove_leftovers(places: Mapping[str, Path]) -> None:
    for place in places.values():
        for leftover in place.parent.glob(f".{glob.escape(place.name)}.restoring-*"):
            _remove_path(leftover)


def _is_occupied(place: Path) -> bool:
    if place.name == CONFIGURATION_FILE:
        return False  # the current configuration stays
    return any(place.iterdir()) if place.is_dir() else os.path.lexists(place)


def _lock_paths(app: App) -> Iterator[Path]:
    collections = Collections(app)
    names = [DEFAULT]
    with contextlib.suppress(StoreError):  # the damaged registry may be the one to replace
        names = collections.names()
    for name in names:
        lock_path = config_of_collection(app.loaded, name).config.storage.sqlite_path.with_name("write.lock")
        if lock_path.parent.is_dir():
            yield lock_path
    collections.close()


def _copy_beside_target(
    staging: _Staging, app: App, options: RestoreOptions, report_progress: Callable[[str], None]
) -> tuple[str, ...]:
    """Copy the backup beside its place, and return what is left out.

    Parts that need consent come first, since the rest may take hours.

    Raises:
        ConsentNeededError: something needs consent, and none was given or refused.
    """
    report_progress("copying the backup")
    copied_first = [name for name in staging.manifest.files if name in {CONFIGURATION_FILE, REGISTRY_FILE}]
    others = [name for name in staging.manifest.files if name not in {CONFIGURATION_FILE, REGISTRY_FILE}]
    registry = Registry(staging.staged(_COLLECTIONS_PART) / "team.db")
    for name in copied_first:
        _copy_staged_file(staging, name)
    lines = _settings_needing_consent(staging, options)
    with contextlib.closing(registry):
        keys = keys_needing_consent(registry, _known_keys(app)) if REGISTRY_FILE in copied_first else ()
        lines += tuple(map(describe_key, keys))
        if lines and options.accepts_settings is None:
            raise ConsentNeededError(
                "\n  ".join(["the backup brings what runs commands, leads to addresses or opens the index", *lines]),
                hint="add --accept-settings to take all of it, or --leave-settings to restore everything else",
            )
        if REGISTRY_FILE in copied_first:
            Operations(registry).delete_all()  # started on another machine; they must not be resumed here
            for key in () if options.accepts_settings else keys:
                Keys(registry).revoke(key.name)
    for name in others:
        _copy_staged_file(staging, name)
    return () if options.accepts_settings else lines


def _known_keys(app: App) -> tuple[Key, ...]:
    try:
        return Keys(app.registry).all()
    except StoreError:  # it may be damaged, and therefore be restored
        return ()


def _settings_needing_consent(staging: _Staging, options: RestoreOptions) -> tuple[str, ...]:
    """Return the settings that need consent, and remove them from the copy if they are not accepted.

    Raises:
        StoreError: one that was accepted cannot have been seen whole.
    """
    name = BackupFile(CONFIGURATION_FILE)
    if (
        name not in staging.manifest.files or staging.places[CONFIGURATION_FILE].exists()
    ):  # the current configuration stays
        return ()
    copy = staging.staged(CONFIGURATION_FILE)
    settings = parse_backup_settings(copy.read_bytes(), where=CONFIGURATION_FILE)
    if settings.too_long and options.accepts_settings:
        raise StoreError(
            f"the value of {settings.too_long[0]} in the backup is too long to be shown, so it is not accepted",
            hint="--leave-settings restores everything else",
        )
    if settings.needing_consent and options.accepts_settings is False:
        copy.unlink()
        content = json.dumps(settings.accepted, ensure_ascii=False, indent=2)
        write_durably(create_file(str(copy), file_mode()), content.encode())
    return settings.needing_consent


def _copy_staged_file(staging: _Staging, name: BackupFile) -> None:
    part, *rest = name.split("/")
    target = make_parent_directories(staging.staged(part), tuple(rest))
    staging.source.copy(name, staging.manifest.files[name], target)
    require_written_by_dirindex(name, target)
    sync_path(target)


def _plan_moves(staging: _Staging) -> list[_RenameStep]:
    """Return the moves; existing parts that the backup lacks are removed."""
    moves = [
        _RenameStep(
            str(staged) if staged.exists() else "", str(place), str(_path_beside(place, f"{staging.token}-old"))
        )
        for part, place in staging.places.items()
        if not (part == CONFIGURATION_FILE and place.exists())
        for staged in (staging.staged(part),)
    ]
    logs = [
        _RenameStep("", str(log), str(_path_beside(log, f"{staging.token}-old")))
        for log in _sqlite_log_files(staging.places)
    ]
    return [*logs, *moves]


def _sqlite_log_files(places: Mapping[str, Path]) -> list[Path]:
    """Return the log files of SQLite beside the databases."""
    databases = (places[DATABASE_FILE], places[PAGES_NAME])
    return [place.with_name(place.name + end) for place in databases for end in _LOG_SUFFIXES]


def _path_beside(place: Path, token: str) -> Path:
    return place.with_name(f".{place.name}.restoring-{token}")


def _write_journal(data_dir: Path, moves: list[_RenameStep]) -> None:
    draft = data_dir / f".{_JOURNAL}"
    draft.unlink(missing_ok=True)
    write_durably(create_file(str(draft), file_mode()), json.dumps([move._asdict() for move in moves]).encode())
    draft.replace(data_dir / _JOURNAL)
    sync_path(data_dir)


def _complete_moves(data_dir: Path, places: Mapping[str, Path]) -> None:
    """Perform the moves of a journal; repeating it does no harm.

    Raises:
        StoreError: the journal is not one that a restore into this data directory writes.
    """
    journal = data_dir / _JOURNAL
    if not journal.exists():
        return
    moves = _parsed_moves(journal, {*map(str, places.values()), *map(str, _sqlite_log_files(places))})
    for staged, place, aside in moves:
        is_staged = bool(staged) and os.path.lexists(staged)
        # The existing file is the old one while the new one waits, or if none is to come.
        if (is_staged or not staged) and os.path.lexists(place) and not os.path.lexists(aside):
            os.replace(place, aside)
        if is_staged:
            os.replace(staged, place)
    journal.unlink()
    for move in moves:
        _remove_path(Path(move.aside))


def _parsed_moves(journal: Path, places: set[str]) -> list[_RenameStep]:
    """Parse a journal: only files of this data directory may be moved or removed."""
    try:
        moves = [_RenameStep(**move) for move in json.loads(journal.read_text(encoding="utf-8"))]
        are_own = all(_is_move_of_restore(move, places) for move in moves)
    except (ValueError, TypeError, AttributeError, RecursionError):
        are_own = False
    if not are_own:
        hint = "move it away, and restore the backup again with --replace"
        raise StoreError(f"'{journal}' was not written by a restore", hint=hint)
    return moves


def _is_move_of_restore(move: _RenameStep, places: set[str]) -> bool:
    if move.place not in places:
        return False
    _, _, token = move.aside.removesuffix("-old").rpartition("-")
    place = Path(move.place)
    return (
        bool(_TOKEN_PATTERN.fullmatch(token))
        and move.aside == str(_path_beside(place, f"{token}-old"))
        and move.staged in {"", str(_path_beside(place, token))}
    )


def _finish_restore(
    app: App, manifest: BackupManifest, left_out: tuple[str, ...], report_progress: Callable[[str], None]
) -> RestoreReport:
    """Make every index consistent with its documents, whose paths may differ from those at the time of the backup."""
    collections = Collections(app)
    has_vectors = app.vectors.stores.place is VectorPlace.EMBEDDED
    n_documents = n_read_again = 0
    tracked: set[FilePath] = set()
    for name in collections.names():
        with collections.opened(name) as opened:
            if not has_vectors and opened.app.loaded.config.storage.sqlite_path.exists():
                _assign_new_index_id(opened.app)
            n_here = sum(opened.documents.counts().values())
            if n_here:
                report_progress(f"looking at the documents of the collection '{name}'")
                opened.queue.recover()
                opened.queue.reconcile()
                n_read_again += len(opened.documents.in_state(DocumentState.QUEUED))
                opened.queue.make_keyword_searchable()
            n_documents += n_here
            tracked |= _tracked_directories(opened)
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


def _tracked_directories(opened: OpenCollection) -> set[FilePath]:
    """Return the tracked directories of a collection, except that of its documents."""
    if not opened.app.loaded.config.storage.sqlite_path.exists():
        return set()
    with opened.app.docstore.snapshot() as snapshot:
        return set(snapshot.directories.all()) - {file_path(opened.originals.directory)}


def _assign_new_index_id(app: App) -> None:
    """Assign a new identity to an index, since the original one may use the same server."""
    with write_lock(app.lock_path, wait=True), app.docstore.transaction() as transaction:
        transaction.vector_sets.start_over()
        transaction.meta.delete("index_id")


def _remove_path(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
