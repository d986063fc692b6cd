"""Collections by name, and where each has its index: the one that was there first in the data directory itself.

Every other one has a database and vectors of its own below the data directory, so that nothing of one can reach an
answer of another.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NewType

from directory_indexer.config import LoadedConfig
from directory_indexer.errors import UsageError
from directory_indexer.ids import DocId, doc_id
from directory_indexer.paths import FilePath, file_path, lies_in

CollectionName = NewType("CollectionName", str)
"""The name of a collection, made by `collection_name`: file systems and URLs take it as it is."""

DEFAULT: Final = CollectionName("default")
"""The index of the data directory itself."""

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_RESERVED: Final = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")
"""What Windows takes for devices."""

_MOST_SHOWN: Final = 80
_DOC_ID_PART: Final = 2
"""A file lies at `/ab/abcd…/name` below the directory of documents."""


def collection_name(text: str) -> CollectionName:
    """Take a name as somebody wrote it.

    Raises:
        UsageError: it can be none.
    """
    if not _NAME.fullmatch(text) or _RESERVED.fullmatch(text):
        raise UsageError(
            f"'{text[:_MOST_SHOWN]}' is not a name for a collection",
            hint="use 1 to 63 lower-case letters, digits and hyphens, with no hyphen first or last",
        )
    return CollectionName(text)


def of_collection(loaded: LoadedConfig, name: CollectionName) -> LoadedConfig:
    """Return the configuration with the index of a collection in the place of the one that is configured."""
    if name == DEFAULT:
        return loaded
    place = collection_directory(loaded.data_dir, name)
    storage = loaded.config.storage
    storage = storage._replace(sqlite_path=place / "data.db", qdrant=storage.qdrant._replace(path=place / "qdrant"))
    return loaded._replace(config=loaded.config._replace(storage=storage), collection=name)


def team_directory(data_dir: Path) -> Path:
    """Return the directory of everything that was sent, and of who may send: no walk enters it."""
    return data_dir / "team"


def registry_path(data_dir: Path) -> Path:
    """Return the database of collections, documents and keys."""
    return team_directory(data_dir) / "team.db"


def collection_directory(data_dir: Path, name: str) -> Path:
    """Return the directory of a collection: its index, unless it is the default one, and its documents."""
    return team_directory(data_dir) / "collections" / name


def doc_id_of(path: FilePath, directory: FilePath) -> DocId | None:
    """Tell which document a file is, or lies in, by the directory of documents; None for any other file."""
    if not lies_in(path, directory):
        return None
    parts = path[len(directory) :].split(os.sep)
    return doc_id(parts[_DOC_ID_PART]) if len(parts) > _DOC_ID_PART + 1 else None


def documents_directory(data_dir: Path, name: str) -> Path:
    """Return the directory that the originals of a collection lie in, which its index tracks."""
    return collection_directory(data_dir, name) / "documents"


def documents_of(loaded: LoadedConfig) -> FilePath:
    """Return the directory of the documents of the collection that a configuration names, as an index knows it."""
    return file_path(os.path.realpath(documents_directory(loaded.data_dir, loaded.collection)))
