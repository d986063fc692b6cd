"""What senders say of their documents, as far as an index has a place for it."""

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
    """The descriptions in the registry at a path; it travels to worker processes, so it opens nothing before it must.

    `directory` is that of the documents of a collection.
    """

    registry: str
    collection: str
    directory: FilePath

    def of(self, path: FilePath) -> Description | None:
        """Give what the sender said of a document; of a member of one, all but the title."""
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
        said = described_by(document.said())
        if containers_around(path):
            return Description(metadata=said)
        return Description(document.title, said, is_fetched=document.source is Source.URL)


def described_by(said: Mapping[str, Any]) -> Metadata:
    """Find what the index has a place for in what a sender said."""
    found: dict[str, Any] = {}
    for name, field in _FIELDS.items():
        values = _texts(said.get(name))
        if values:
            found[field] = values if field in _SEVERAL else values[0]
    return Metadata(**found)


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(one.strip() for one in values if isinstance(one, str) and one.strip())


_SEVERAL: Final = frozenset({"authors", "tags", "sender", "recipients", "copied"})
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
"""What senders call what the index has a place for."""
