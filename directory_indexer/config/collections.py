"""Collections by name, and the locations of their indexes.

The default collection is in the data directory itself; every other one has its own database and vectors below it, so
that no answer of one collection can contain anything of another.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NewType

from directory_indexer.config import LoadedConfig
from directory_indexer.core.errors import UsageError
from directory_indexer.core.ids import DocId, doc_id
from directory_indexer.core.paths import FilePath, file_path, lies_in

CollectionName = NewType("CollectionName", str)
"""The name of a collection, made by `collection_name`: safe in file systems and URLs."""

DEFAULT: Final = CollectionName("default")
"""The index of the data directory itself."""

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_RESERVED: Final = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")
"""Device names on Windows."""

_MAX_MESSAGE_CHARS: Final = 80
_DOC_ID_PART: Final = 2
"""A document is stored at `/ab/abcd…/name` below the directory of documents."""


def collection_name(text: str) -> CollectionName:
    """Validate the name of a collection.

    Raises:
        UsageError: it is invalid.
    """
    if not _NAME.fullmatch(text) or _RESERVED.fullmatch(text):
        raise UsageError(
            f"'{text[:_MAX_MESSAGE_CHARS]}' is not a valid name for a collection",
            hint="use 1 to 63 lower-case letters, digits and hyphens, with no hyphen first or last",
        )
    return CollectionName(text)


def config_of_collection(loaded: LoadedConfig, name: CollectionName) -> LoadedConfig:
    """Return the configuration with the index of a collection instead of the configured one."""
    if name == DEFAULT:
        return loaded
    directory = collection_directory(loaded.data_dir, name)
    storage = loaded.config.storage
    qdrant = storage.qdrant._replace(path=directory / "qdrant")
    storage = storage._replace(sqlite_path=directory / "data.db", qdrant=qdrant)
    return loaded._replace(config=loaded.config._replace(storage=storage), collection=name)


def team_directory(data_dir: Path) -> Path:
    """Return the directory of collections, documents and keys, which no walk enters."""
    return data_dir / "team"


def registry_path(data_dir: Path) -> Path:
    """Return the path of the database of collections, documents and keys."""
    return team_directory(data_dir) / "team.db"


def collection_directory(data_dir: Path, name: str) -> Path:
    """Return the directory of a collection: its documents, and its index unless it is the default one."""
    return team_directory(data_dir) / "collections" / name


def doc_id_of(path: FilePath, directory: FilePath) -> DocId | None:
    """Return the id of the document that a file is or belongs to, by its path below the documents.

    None for other files.
    """
    if not lies_in(path, directory):
        return None
    parts = path[len(directory) :].split(os.sep)
    return doc_id(parts[_DOC_ID_PART]) if len(parts) > _DOC_ID_PART + 1 else None


def documents_directory(data_dir: Path, name: str) -> Path:
    """Return the directory of the originals of a collection, which its index tracks."""
    return collection_directory(data_dir, name) / "documents"


def documents_of(loaded: LoadedConfig) -> FilePath:
    """Return the directory of the documents of the configured collection, as it is named in the index."""
    return file_path(os.path.realpath(documents_directory(loaded.data_dir, loaded.collection)))
