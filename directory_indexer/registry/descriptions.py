"""Metadata that senders provide for their documents, mapped to the fields of the index."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.config.collections import doc_id_of
from directory_indexer.extractors.document import Description, Metadata
from directory_indexer.paths import FilePath, containers_around
from directory_indexer.registry.documents import Documents
from directory_indexer.registry.store import Registry
from directory_indexer.registry.stored_documents import Source


class StoredDescriptions(NamedTuple):
    """The descriptions in the registry at a path; it is sent to worker processes, so it opens files lazily.

    `directory` holds the documents of the collection.
    """

    registry: str
    collection: str
    directory: FilePath

    def of(self, path: FilePath) -> Description | None:
        """Return the sender's description of a document; without the title for a member of one."""
        doc_id = doc_id_of(path, self.directory)
        if doc_id is None:
            return None
        registry = Registry(Path(self.registry))
        try:
            document = Documents(registry, self.collection).get(doc_id)
        finally:
            registry.close()
        if document is None:
            return None
        metadata = described_by(document.said())
        if containers_around(path):
            return Description(metadata=metadata)
        return Description(document.title, metadata, is_fetched=document.source is Source.URL)


def described_by(sent: Mapping[str, Any]) -> Metadata:
    """Return the metadata fields that the index supports."""
    fields: dict[str, Any] = {}
    for name, field in _FIELDS.items():
        values = _texts(sent.get(name))
        if values:
            fields[field] = values if field in _LIST_FIELDS else values[0]
    return Metadata(**fields)


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(item.strip() for item in values if isinstance(item, str) and item.strip())


_LIST_FIELDS: Final = frozenset({"authors", "tags", "sender", "recipients", "copied"})
_FIELDS: Final = {
    "author": "authors",
    "authors": "authors",
    "tag": "tags",
    "tags": "tags",
    "created": "created",
    "modified": "modified",
    "lang": "language",
    "language": "language",
    "subject": "subject",
    "from": "sender",
    "to": "recipients",
    "cc": "copied",
}
"""The names that senders use for the fields of the index."""
