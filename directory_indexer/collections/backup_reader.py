"""Reader of a backup for a restore: opens its files safely, and lists the settings and keys that need consent.

Others may be able to write to a backup. Its files are opened component by component below its directory, so no link
leads out of it. Databases, settings and keys are examined in the copy, which nobody else can change.

Settings and keys that run commands, name addresses or open the index are accepted only with consent. Settings on the
list below are harmless; all others need consent, including those that a later version adds.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Self

from directory_indexer.collections.backup import (
    CONFIGURATION_FILE,
    DATABASE_FILE,
    MANIFEST_FILE,
    REGISTRY_FILE,
    BackupFile,
    BackupManifest,
    parse_backup_manifest,
    set_nested,
)
from directory_indexer.config.indexing import EMBEDDED_MODELS
from directory_indexer.config.settings import KEYS, SECTIONS, parse_jsonc
from directory_indexer.config.value_types import Secret
from directory_indexer.core.errors import StoreError, UsageError
from directory_indexer.core.kept_files import directory_mode, file_mode
from directory_indexer.core.safe_open import CachedPathOpener, create_file, make_directory
from directory_indexer.policies import PAGES_NAME
from directory_indexer.storage.databases import ANOTHER_BACKUP_HINT, enable_wal, require_known_schema
from directory_indexer.storage.documents import maintenance
from directory_indexer.storage.documents.schema import SCHEMA
from directory_indexer.storage.ocr_cache import create_tables as make_page_tables
from directory_indexer.storage.registry import SCHEMA as REGISTRY_SCHEMA
from directory_indexer.storage.registry import Registry, repairs
from directory_indexer.storage.registry.keys import Key, Keys

if TYPE_CHECKING:
    import sqlite3

_MAX_MANIFEST_BYTES: Final = 1 << 28
_PIECE_BYTES: Final = 1 << 20
_DATABASES: Final[Mapping[str, Callable[[sqlite3.Connection, int], None]]] = {
    DATABASE_FILE: SCHEMA.create_tables,
    PAGES_NAME: make_page_tables,
    PurePosixPath(REGISTRY_FILE).name: REGISTRY_SCHEMA.create_tables,
}
"""The functions that create the tables of the databases of a backup, by the names of their files."""

_MAX_LINE_CHARACTERS: Final = 2_000

_HARMLESS_KEYS: Final = frozenset(
    {
        *("embedding.dimensions", "embedding.batch_size", "indexing.chunk_size", "indexing.embedding"),
        *("indexing.overlap", "indexing.max_file_size", "indexing.ignore_patterns", "indexing.respect_gitignore"),
        *("indexing.include_hidden", "indexing.git_history", "indexing.concurrency", "ocr.languages"),
        *("ocr.max_pages_per_run", "ocr.cache_size", "monitoring.background_embedding", "monitoring.battery_percent"),
        *("monitoring.file_watching", "monitoring.batch_size", "searching.embedding_ms", "searching.refresh_ms"),
        *("serving.requests_per_second", "serving.embedding_ms"),
    }
)
"""Settings of amounts, intervals and file names, within the tracked directories."""

_HARMLESS_VALUES: Final[Mapping[str, frozenset[object]]] = {
    "embedding.provider": frozenset({"embedded"}),
    "embedding.model": frozenset({*EMBEDDED_MODELS, None}),
    "ocr.engine": frozenset({"auto", "rapidocr", "off"}),
}
"""Values that stay on this machine, of settings that can also point elsewhere."""


class BackupSource:
    """Read access to a backup; no link is followed."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(os.path.expanduser(path)))
        self._passage = CachedPathOpener()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._passage.close()

    def manifest(self) -> BackupManifest:
        """Read the manifest of the backup.

        Raises:
            UsageError: it is not a backup.
            StoreError: it names a file that cannot be part of a backup.
        """
        try:
            with self._open_in_backup(MANIFEST_FILE) as file:
                content = file.read(_MAX_MANIFEST_BYTES)
        except OSError as error:
            hint = "name a directory that dirindex backup wrote"
            raise UsageError(f"'{self.path}' is not a backup", hint=hint) from error
        return parse_backup_manifest(content, where=str(self.path))

    def copy(self, name: BackupFile, size: int, target: Path) -> None:
        """Copy a file to a new path, with its time stamps, and flush it to the disk.

        Raises:
            StoreError: it has changed since the backup.
        """
        with self._open_unchanged(name, size) as file, open(create_file(str(target), file_mode()), "wb") as copy:
            shutil.copyfileobj(file, copy, _PIECE_BYTES)
            copy.flush()
            status = os.fstat(file.fileno())
            is_same = os.fstat(copy.fileno()).st_size == size
            os.fsync(copy.fileno())
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        if not is_same:
            raise self._changed_error(name)

    @contextlib.contextmanager
    def _open_unchanged(self, name: BackupFile, size: int) -> Iterator[BinaryIO]:
        try:
            file = self._open_in_backup(name)
        except OSError as error:
            raise self._changed_error(name) from error
        with file:
            if os.fstat(file.fileno()).st_size != size:
                raise self._changed_error(name)
            yield file

    def _open_in_backup(self, name: str) -> BinaryIO:
        descriptor = self._passage.open_file(os.path.join(self.path, *name.split("/")))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise IsADirectoryError(name)
        return os.fdopen(descriptor, "rb")

    def _changed_error(self, name: str) -> StoreError:
        return StoreError(f"'{self.path / name}' has changed since the backup", hint=ANOTHER_BACKUP_HINT)


def make_parent_directories(root: Path, parts: tuple[str, ...]) -> Path:
    """Create the directories of a file below a private root, and return its path."""
    place = root
    for part in parts:
        make_directory(str(place), directory_mode())
        place /= part
    return place


def require_written_by_dirindex(name: BackupFile, copy: Path) -> None:
    """Ensure that the copy of a file, if it is a database, has the tables and rows that dirindex writes.

    Raises:
        StoreError: it has others, or is damaged.
    """
    make = _DATABASES.get(copy_name := PurePosixPath(name).name)
    if make is None or name == CONFIGURATION_FILE:
        return
    require_known_schema(copy, make, name=name)
    if copy_name == DATABASE_FILE:
        maintenance.require_safe_paths(copy, name=name)
    enable_wal(copy)
    if name == REGISTRY_FILE:
        _examine_registry(copy)


class BackupSettings(NamedTuple):
    """The settings of a backup: a tree of those that need no consent, and a line for each of the others.

    `too_long` are those whose value is not shown whole.
    """

    accepted: Mapping[str, Any]
    needing_consent: tuple[str, ...]
    too_long: tuple[str, ...] = ()


def parse_backup_settings(content: bytes, *, where: str) -> BackupSettings:
    """Parse the settings of a configuration file, separating those that need consent.

    Raises:
        StoreError: it is not a configuration, or a harmless setting has an invalid value.
    """
    try:
        tree = parse_jsonc(content.decode("utf-8-sig"))
        leaves = list(_flatten_settings(tree if isinstance(tree, dict) else {"": tree}))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"'{where}' of the backup is not JSON", hint=ANOTHER_BACKUP_HINT) from error
    harmless: dict[str, Any] = {}
    others: list[str] = []
    too_long: list[str] = []
    for key, value in leaves:
        if not _is_harmless(key, value):
            text = _format_value(key, value)
            others.append(f"{key[:_MAX_LINE_CHARACTERS]!a} = {_truncate_line(text)}")
            too_long += [key] if _truncate_line(text) != text and key in KEYS else []
            continue
        for issue in KEYS[key].type.issues(KEYS[key].type.convert(value, Path)):
            raise StoreError(f"'{where}' of the backup: {key} {issue.message}", hint=ANOTHER_BACKUP_HINT)
        set_nested(harmless, key, value)
    return BackupSettings(harmless, tuple(others), tuple(too_long))


def keys_needing_consent(registry: Registry, present: Iterable[Key]) -> tuple[Key, ...]:
    """Return the keys of a registry that do not exist now with the same access."""
    known = {_access_of_key(key) for key in present}
    return tuple(key for key in Keys(registry).all() if _access_of_key(key) not in known)


def describe_key(key: Key) -> str:
    """Describe the access of a key."""
    collections = "all collections" if key.collections is None else ", ".join(sorted(key.collections))
    return f"key '{key.name}' ({key.right}, {collections})"


def _examine_registry(copy: Path) -> None:
    with contextlib.closing(Registry(copy)) as registry:
        if damaged := repairs.find_damaged_rows(registry):
            raise StoreError(
                f"'{REGISTRY_FILE}' of the backup holds a row that dirindex does not write: {damaged[0].column}",
                hint=ANOTHER_BACKUP_HINT,
            )


def _access_of_key(key: Key) -> tuple[object, ...]:
    return key.name, key.digest, key.right, key.collections, key.expires_at


def _flatten_settings(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if key in SECTIONS and isinstance(value, dict):
            yield from _flatten_settings(value, f"{key}.")
        else:
            yield key, value


def _is_harmless(key: str, value: object) -> bool:
    if key in _HARMLESS_VALUES:
        return isinstance(value, str | None) and value in _HARMLESS_VALUES[key]
    return key in _HARMLESS_KEYS


def _format_value(key: str, value: object) -> str:
    if key in KEYS and isinstance(KEYS[key].type, Secret):
        return "*" * 10
    return json.dumps(value)


def _truncate_line(text: str) -> str:
    return text if len(text) <= _MAX_LINE_CHARACTERS else f"{text[:_MAX_LINE_CHARACTERS]}…"
