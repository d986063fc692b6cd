"""The manifest of a backup: the names and sizes of its files.

A backup may come from anywhere, and its manifest names paths to write. So every name is parsed: if `backup` cannot have
chosen it, the backup is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, NewType

from directory_indexer import __version__
from directory_indexer.config.collections import CollectionName, collection_name
from directory_indexer.databases.copying import ANOTHER_BACKUP
from directory_indexer.databases.stored_values import text
from directory_indexer.errors import StoreError, UsageError
from directory_indexer.ids import doc_id
from directory_indexer.policies import PAGES_NAME
from directory_indexer.registry.stored_documents import is_stored_name

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
CONFIGURATION: Final = "config.json"
REGISTRY: Final = "team/team.db"
DATABASE: Final = "data.db"
VECTORS: Final = "qdrant"

BackupFile = NewType("BackupFile", str)
"""The name of a file of a backup, relative and with slashes; created by `backup_file`."""

_COMPONENT: Final = re.compile(r"(?!\.{1,2}$)[^/\\:\x00-\x1f\x7f\ud800-\udfff]{1,255}")
_MAX_SHOWN: Final = 80


class Manifest(NamedTuple):
    """The origin of a backup, its collections, and the size of each file."""

    made_at: str
    data_dir: str
    collections: tuple[CollectionName, ...]
    files: Mapping[BackupFile, int]

    def to_json(self) -> str:
        """Return the manifest as JSON for `parsed_manifest`."""
        return json.dumps({"format": FORMAT, "dirindex": __version__, **self._asdict()}, indent=1)


def parsed_manifest(content: bytes, *, where: str) -> Manifest:
    """Parse a manifest.

    Raises:
        UsageError: it is not a manifest, or a newer dirindex wrote it.
        StoreError: it names a file that no backup has.
    """
    try:
        manifest = json.loads(content)
        format_version = manifest["format"]
        files = {text(name): _parse_size(size) for name, size in manifest["files"].items()}
        collections = tuple(collection_name(text(name)) for name in manifest["collections"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, UsageError) as error:
        raise UsageError(f"'{where}' is not a backup", hint="name a directory that dirindex backup wrote") from error
    if format_version != FORMAT:
        raise UsageError(f"'{where}' was written by a newer dirindex", hint="upgrade dirindex")
    try:
        named = {backup_file(name): size for name, size in files.items()}
    except ValueError as error:
        raise StoreError(f"'{where}' names a file that no backup has: {error}", hint=ANOTHER_BACKUP) from error
    made_at, data_dir = (_parse_line(manifest.get(key)) for key in ("made_at", "data_dir"))
    return Manifest(made_at, data_dir, collections, named)


def backup_file(name: str) -> BackupFile:
    """Parse the name of a file of a backup.

    Raises:
        ValueError: no backup has a file of that name.
    """
    match name.split("/"):
        case ["config.json"] | ["team", "team.db"]:
            is_known = True
        case ["team", "collections", collection, "documents", *original]:
            is_known = _is_collection(collection) and _is_original(original)
        case ["team", "collections", collection, *rest]:
            is_known = _is_collection(collection) and _is_index_file(rest)
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


def _is_index_file(parts: Sequence[str]) -> bool:
    match parts:
        case [name]:
            return name in {DATABASE, PAGES_NAME}
        case [start, *rest]:
            return start == VECTORS and all(map(_COMPONENT.fullmatch, rest))
    return False


def _is_original(parts: Sequence[str]) -> bool:
    match parts:
        case [start, known, name]:
            return bool(doc_id(known)) and known[:2] == start and is_stored_name(name)
    return False


def _is_collection(name: str) -> bool:
    try:
        return bool(collection_name(name))
    except UsageError:
        return False


def _parse_size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(value)
    return value


def _parse_line(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() else ""
