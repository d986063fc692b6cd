"""Fingerprint of an index: the space of its vectors, and the versions and settings that decide on re-indexing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from directory_indexer.core.errors import REBUILD_HINT, CorruptIndexError
from directory_indexer.core.ids import content_hash


class EmbeddingSpace(NamedTuple):
    """Properties that make vectors comparable: provider, model, dimensions and document prefix; and the endpoint.

    `dimensions` is 0 while only the provider knows them; `is_shortened` if they were requested.
    """

    provider: str
    model: str
    dimensions: int
    document_prefix: str = ""
    query_prefix: str = ""
    is_shortened: bool = False
    endpoint: str | None = None

    @property
    def name(self) -> str:
        """A name that identifies everything that affects the vectors."""
        name = f"{self.provider}/{self.model}"
        name += f" in {self.dimensions} dimensions" if self.is_shortened else ""
        return name + (f" with '{self.document_prefix}'" if self.document_prefix else "")


class EmbeddingUsage(NamedTuple):
    """The usage of an embedder so far: tokens as the provider counts them, and truncated texts."""

    n_tokens: int = 0
    n_truncated: int = 0


class Fingerprint(NamedTuple):
    """The versions and settings of embedding, chunking, extraction, analysis and secret detection, as texts.

    `extraction` is shared by all kinds of files; `formats` has the version of each kind, which concerns only its files.
    `pictured` are the kinds whose images are read, which needs OCR.
    """

    embedding: str
    chunking: str
    extraction: str
    analysis: str
    secrets: str = ""
    formats: Mapping[str, int] = MappingProxyType({})
    pictured: Sequence[str] = ()

    @property
    def recipe(self) -> int:
        """A number for the shared way from a file to its chunks, stored with each file."""
        return int.from_bytes(content_hash(f"{self.chunking}\0{self.extraction}\0{self.secrets}".encode())[:6], "big")

    def differences(self, built: Fingerprint) -> tuple[str, ...]:
        """Return the work that has to be redone because the index was built differently."""
        return tuple(
            f"{work} ({name} was {getattr(built, name)}, is {getattr(self, name)})"
            for name, work in _WORK_OF_CHANGES.items()
            if getattr(built, name) != getattr(self, name)
        )

    def changed_kinds(self, built: Fingerprint) -> frozenset[str]:
        """Return the kinds of files whose result would differ now; unknown for an older index.

        Text read from images stays when OCR is switched off.
        """
        if not built.formats:
            return frozenset()
        return frozenset(dict(self.formats.items() ^ built.formats.items())) | {*self.pictured} - {*built.pictured}

    def to_json(self) -> str:
        """Format the fingerprint for storage in the index."""
        return json.dumps(self._replace(formats=dict(self.formats))._asdict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Fingerprint:
        """Parse a stored fingerprint.

        Raises:
            CorruptIndexError: it is damaged.
        """
        try:
            return _validate_types(cls(**json.loads(text)))
        except (ValueError, TypeError, RecursionError) as error:
            raise CorruptIndexError("the record of what built the index is damaged", hint=REBUILD_HINT) from error


def _validate_types(built: Fingerprint) -> Fingerprint:
    are_versions = all(isinstance(version, int) for version in dict(built.formats).values())
    if not are_versions or not all(isinstance(value, str) for value in built[:_N_TEXT_FIELDS]):
        raise TypeError(built)
    return built._replace(formats=dict(built.formats), pictured=tuple(map(str, built.pictured)))


_N_TEXT_FIELDS = 5
"""The text fields come first."""


_WORK_OF_CHANGES = {
    "embedding": "make every text searchable by meaning again",
    "chunking": "read and chunk every file again",
    "extraction": "read every file again",
}
"""The work that a difference causes. Analysis is missing: full-text rows are rebuilt from the stored texts at once. So
are secrets: those that an older version overlooked are masked without consent.
"""
