"""Backups of everything in a data directory, while it is used: collections, documents, keys and OCR results.

Each database is copied as a consistent snapshot, and the registry together with its originals. Vectors of the embedded
engine are copied; those on a Qdrant server are computed again from the texts. Of tracked directories only the index is
copied. A backup is complete or does not exist.

A backup may come from anywhere, and its manifest names paths to write. So every name in it is parsed: if `backup`
cannot have chosen it, the backup is refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, NewType

from directory_indexer import __version__
from directory_indexer.app import App
from directory_indexer.collections import Collections
from directory_indexer.config import (
    DEFAULT,
    CollectionName,
    collection_name,
    documents_directory,
    registry_path,
    team_directory,
)
from directory_indexer.config.settings import KEYS, Source
from directory_indexer.config.value_types import Secret
from directory_indexer.core.errors import StoreError, UsageError
from directory_indexer.core.ids import doc_id
from directory_indexer.core.kept_files import create_new_file, directory_mode, sync_path, write_durably
from directory_indexer.core.paths import well_formed
from directory_indexer.policies import PAGES_NAME
from directory_indexer.storage.databases import ANOTHER_BACKUP_HINT, copy_database
from directory_indexer.storage.databases.stored_values import parse_text
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.registry.repairs import require_intact
from directory_indexer.storage.registry.stored_documents import is_stored_name
from directory_indexer.storage.vectors import VectorPlace
from directory_indexer.storage.vectors.generations import Generations, size_bytes

_COPY_ATTEMPTS: Final = 20
_PATH_SETTINGS: Final = frozenset({"storage.sqlite_path", "storage.qdrant.path"})

BACKUP_FORMAT: Final = 1
MANIFEST_FILE: Final = "manifest.json"
CONFIGURATION_FILE: Final = "config.json"
REGISTRY_FILE: Final = "team/team.db"
DATABASE_FILE: Final = "data.db"
VECTORS_DIRECTORY: Final = "qdrant"

BackupFile = NewType("BackupFile", str)
"""The name of a file of a backup, relative and with slashes; created by `backup_file`."""

_PATH_COMPONENT: Final = re.compile(r"(?!\.{1,2}$)[^/\\:\x00-\x1f\x7f\ud800-\udfff]{1,255}")
_MAX_SHOWN: Final = 80


class BackupReport(NamedTuple):
    """The contents of a backup."""

    place: Path
    n_collections: int
    n_documents: int
    n_indexed: int
    """The number of indexed files in its collections, including sent documents."""

    n_files: int
    n_bytes: int
    has_vectors: bool
    """False if vectors lie on a Qdrant server, and are computed again after a restore."""


def back_up(
    app: App, collections: Collections, target: Path, *, report_progress: Callable[[str], None]
) -> BackupReport:
    """Write a backup into a new directory.

    Raises:
        UsageError: the directory exists and is not empty, or lies in the data directory.
        StoreError: something cannot be read or written.
    """
    target = Path(os.path.abspath(os.path.expanduser(target)))
    _require_new_directory(target, app)
    draft = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    try:
        draft.mkdir(mode=directory_mode())
        report_progress("copying the registry and the originals")
        n_documents = _copy_registry(app, draft)
        names, n_indexed = collections.names(), 0
        for name in names:
            report_progress(f"copying the index of the collection '{name}'")
            place = draft if name == DEFAULT else draft / "team" / "collections" / name
            with collections.opened(name) as opened:
                n_indexed += _copy_index(opened.app, place)
        if configuration := _portable_configuration(app):
            write_durably(create_new_file(draft / CONFIGURATION_FILE), json.dumps(configuration, indent=2).encode())
        made_at, files = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), _file_sizes_in(draft)
        manifest = BackupManifest(made_at, well_formed(os.path.realpath(app.loaded.data_dir)), tuple(names), files)
        n_bytes = size_bytes(draft)
        write_durably(create_new_file(draft / MANIFEST_FILE), manifest.to_json().encode())
        if target.is_dir():
            target.rmdir()
        draft.rename(target)
        with contextlib.suppress(PermissionError):  # it may be writable and not readable
            sync_path(target.parent)
    except OSError as error:
        raise StoreError(f"the backup cannot be written: {error}", hint="free some disk space") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    has_vectors = app.vectors.stores.place is VectorPlace.EMBEDDED
    return BackupReport(target, len(names), n_documents, n_indexed, len(files), n_bytes, has_vectors)


class BackupManifest(NamedTuple):
    """The origin of a backup, its collections, and the size of each file."""

    made_at: str
    data_dir: str
    collections: tuple[CollectionName, ...]
    files: Mapping[BackupFile, int]

    def to_json(self) -> str:
        """Return the manifest as JSON for `parse_backup_manifest`."""
        return json.dumps({"format": BACKUP_FORMAT, "dirindex": __version__, **self._asdict()}, indent=1)


def parse_backup_manifest(content: bytes, *, where: str) -> BackupManifest:
    """Parse a manifest.

    Raises:
        UsageError: it is not a manifest, or a newer dirindex wrote it.
        StoreError: it names a file that cannot be part of a backup.
    """
    try:
        manifest = json.loads(content)
        format_version = manifest["format"]
        files = {parse_text(name): _parse_size(size) for name, size in manifest["files"].items()}
        collections = tuple(collection_name(parse_text(name)) for name in manifest["collections"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, UsageError) as error:
        raise UsageError(f"'{where}' is not a backup", hint="name a directory that dirindex backup wrote") from error
    if format_version != BACKUP_FORMAT:
        raise UsageError(f"'{where}' was written by a newer dirindex", hint="upgrade dirindex")
    try:
        named = {backup_file(name): size for name, size in files.items()}
    except ValueError as error:
        raise StoreError(
            f"'{where}' names a file that cannot be part of a backup: {error}", hint=ANOTHER_BACKUP_HINT
        ) from error
    made_at, data_dir = (_parse_one_line(manifest.get(key)) for key in ("made_at", "data_dir"))
    return BackupManifest(made_at, data_dir, collections, named)


def backup_file(name: str) -> BackupFile:
    """Parse the name of a file of a backup.

    Raises:
        ValueError: no backup has a file of that name.
    """
    match name.split("/"):
        case ["config.json"] | ["team", "team.db"]:
            is_known = True
        case ["team", "collections", collection, "documents", *original]:
            is_known = _is_collection_name(collection) and _is_original(original)
        case ["team", "collections", collection, *rest]:
            is_known = _is_collection_name(collection) and _is_index_file(rest)
        case parts:
            is_known = _is_index_file(parts)
    if not is_known:
        raise ValueError(json.dumps(name[:_MAX_SHOWN]))
    return BackupFile(name)


def is_backup_file(name: str) -> bool:
    """Whether a backup can have a file of a name."""
    try:
        return bool(backup_file(name))
    except ValueError:
        return False


def _require_new_directory(target: Path, app: App) -> None:
    data_dir = Path(os.path.realpath(app.loaded.data_dir))
    if Path(os.path.realpath(target)).is_relative_to(data_dir):
        raise UsageError(
            f"'{target}' lies in the data directory",
            hint="choose a directory outside of it, preferably on another disk",
        )
    if target.is_dir() and not any(target.iterdir()):
        return
    if os.path.lexists(target):
        raise UsageError(f"'{target}' already exists", hint="name a new or an empty directory")
    if not target.parent.is_dir():
        raise UsageError(f"there is no directory '{target.parent}'", hint="create it, or name another")


def _copy_registry(app: App, draft: Path) -> int:
    """Copy the registry with its originals; the lock blocks sending, so originals are linked first and copied later."""
    source = registry_path(app.loaded.data_dir)
    if not source.exists():
        return 0
    team = draft / "team"
    team.mkdir(mode=directory_mode())
    around = team_directory(app.loaded.data_dir)
    links = around / f"backup-{secrets.token_hex(4)}"
    try:
        with app.registry.writing() as connection:
            require_intact(connection, source)
            copy_database(source, team / source.name)
            names = [row[0] for row in connection.execute("SELECT DISTINCT collection FROM documents")]
            for name in names:
                _link_tree(documents_directory(app.loaded.data_dir, name), links / name)
            (n_documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
        for name in names:
            _copy_originals(links / name, team / "collections" / name / "documents", draft)
    finally:
        shutil.rmtree(links, ignore_errors=True)
    return int(n_documents)


def _copy_index(app: App, place: Path) -> int:
    """Copy a database and its vectors; retry if a run has replaced these meanwhile.

    Returns:
        The number of indexed files.
    """
    storage = app.loaded.config.storage
    if not storage.sqlite_path.exists():
        return 0
    place.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
    copy = place / "data.db"
    for _ in range(_COPY_ATTEMPTS):
        shutil.rmtree(place / "qdrant", ignore_errors=True)
        copy.unlink(missing_ok=True)
        copy_database(storage.sqlite_path, copy)
        n_indexed, generations = _read_contents_of_index(app, copy)
        if all(
            Generations(storage.qdrant.path / name).copy_to(number, place / "qdrant" / name)
            for name, number in generations
        ):
            break
    else:
        raise StoreError("the index changes faster than it can be copied", hint="try again later")
    pages = storage.sqlite_path.with_name(PAGES_NAME)
    if pages.exists():
        copy_database(pages, place / PAGES_NAME)
    return n_indexed


def _read_contents_of_index(app: App, database: Path) -> tuple[int, list[tuple[str, int]]]:
    """Return the number of indexed files in a copied database, and the generations of vectors that it needs."""
    docstore = DocStore(database)
    try:
        with docstore.snapshot() as snapshot:
            sets, n_indexed = snapshot.vector_sets, snapshot.overview.summary().n_files
            if VectorPlace.SERVER in sets.generations():
                return n_indexed, []
            vector_sets = [(sets.current(), sets.generation(VectorPlace.EMBEDDED))]
            if former := sets.former():
                vector_sets.append((former, sets.answering_generation(VectorPlace.EMBEDDED)))
    finally:
        docstore.close()
    return n_indexed, [(app.vectors.stores.name_of(vector_set), number) for vector_set, number in vector_sets if number]


def _portable_configuration(app: App) -> dict[str, Any]:
    """Return the settings of the configuration file, without secrets and paths of the index."""
    settings: dict[str, Any] = {}
    for setting in app.loaded.settings:
        is_own = setting.key in KEYS and setting.source == Source.FILE and setting.key not in _PATH_SETTINGS
        if is_own and not isinstance(KEYS[setting.key].type, Secret):
            set_nested(settings, setting.key, setting.value)
    return settings


def set_nested(tree: dict[str, Any], key: str, value: object) -> None:
    """Set the value of a dotted key in a tree of sections."""
    *sections, name = key.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
    tree[name] = value


def _link_tree(source: Path, target: Path) -> None:
    for path in _regular_files(source):
        place = target / path.relative_to(source)
        place.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        try:
            os.link(path, place)
        except OSError:
            shutil.copy2(path, place)


def _copy_originals(source: Path, target: Path, draft: Path) -> None:
    """Copy files durably: a hard link to a file that never changes is as good as a copy.

    Foreign files among the originals are not part of a backup.
    """
    for path in _regular_files(source):
        place = target / path.relative_to(source)
        if not is_backup_file(place.relative_to(draft).as_posix()):
            continue
        place.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        try:
            os.link(path, place)
        except OSError:
            shutil.copy2(path, place)
            sync_path(place)


def _regular_files(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.rglob("*")) if path.is_file() and not path.is_symlink())


def _file_sizes_in(directory: Path) -> dict[BackupFile, int]:
    files = _regular_files(directory)
    return {backup_file(path.relative_to(directory).as_posix()): path.stat().st_size for path in files}


def _is_index_file(parts: Sequence[str]) -> bool:
    match parts:
        case [name]:
            return name in {DATABASE_FILE, PAGES_NAME}
        case [start, *rest]:
            return start == VECTORS_DIRECTORY and all(map(_PATH_COMPONENT.fullmatch, rest))
    return False


def _is_original(parts: Sequence[str]) -> bool:
    match parts:
        case [start, known, name]:
            return bool(doc_id(known)) and known[:2] == start and is_stored_name(name)
    return False


def _is_collection_name(name: str) -> bool:
    try:
        return bool(collection_name(name))
    except UsageError:
        return False


def _parse_size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(value)
    return value


def _parse_one_line(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() else ""
