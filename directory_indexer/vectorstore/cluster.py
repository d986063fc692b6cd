"""A cluster index: the texts, words and vectors of one index in Qdrant collections of its own.

Servers without a database answer from it alone. Passages are in one Qdrant collection, in another one the catalogue:
the files, the words with the number of chunks that have them, and the manifest, which says what the rest means.

The invariant it guards: a reader sees one version. A passage counts from the version `since` until the version `until`;
new passages are written first, then the manifest names their version, then the old ones are deleted.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from directory_indexer.chunker.chunks import Chunk
from directory_indexer.embedding_space import EmbeddingSpace
from directory_indexer.extractors.document import FileFacts
from directory_indexer.ids import ChunkId
from directory_indexer.paths import FilePath
from directory_indexer.relevance.sparse import SparseVector

FORMAT: Final = 2
"""Changes whenever an older dirindex would misread what is written."""

STANDING: Final = 2**52
"""Until when a passage counts of which no end is known."""


class TrackedDirectory(NamedTuple):
    """A tracked directory of the machine that indexes."""

    path: FilePath
    completed_at: float | None
    n_files: int
    n_bytes: int
    n_chunks: int
    n_embedded: int


class Manifest(NamedTuple):
    """What a cluster index holds: which index it is, where that is made, and which version counts.

    `passages` names the Qdrant collection of the passages. Files and words that went are told of from the version
    `kept_from` on; who knows an older one reads all of them again.
    """

    index_id: str
    host: str
    version: int
    kept_from: int
    passages: str
    space: EmbeddingSpace
    n_chunks: int
    n_waiting: int
    directories: tuple[TrackedDirectory, ...]

    def to_json(self) -> dict[str, Any]:
        """Write it as the payload of a point."""
        directories = [one._asdict() for one in self.directories]
        return {**self._asdict(), "format": FORMAT, "space": self.space._asdict(), "directories": directories}

    @classmethod
    def from_json(cls, payload: dict[str, Any]) -> Manifest:
        """Read it from the payload of a point."""
        known = {name: payload[name] for name in cls._fields}
        directories = tuple(TrackedDirectory(**one) for one in payload["directories"])
        return cls(**{**known, "space": EmbeddingSpace(**payload["space"]), "directories": directories})


class ClusterFile(NamedTuple):
    """A file of the catalogue; `key` stands for it in passages, `revision` for its text. Times are in nanoseconds."""

    path: FilePath
    directory: FilePath
    container: FilePath | None
    state: str
    size: int
    mtime_ns: int
    hash: str
    facts: FileFacts
    page_starts: str
    dated_at: float | None
    n_masked: int
    metadata: tuple[tuple[str, str], ...]
    revision: str
    n_passages: int

    @property
    def key(self) -> int:
        """Give the number that stands for the file."""
        return file_key(self.path)


class ClusterPassage(NamedTuple):
    """A passage with what is found of it; without a vector it is found by words alone."""

    chunk_id: ChunkId
    path: FilePath
    facts: FileFacts
    chunk: Chunk


class NewPassage(NamedTuple):
    """A passage as it is written: `words` are all of its words, for a filter."""

    passage: ClusterPassage
    revision: str
    sparse: SparseVector
    words: str
    vector: Sequence[float] | None


class FoundPassage(NamedTuple):
    """A passage that a list of candidates has, its point, and its score there."""

    point_id: str
    file_key: int
    passage: ClusterPassage
    score: float


class WordCount(NamedTuple):
    """A word, and how many chunks have it; 0 where none has it any more."""

    word: str
    n_chunks: int


def file_key(path: FilePath) -> int:
    """Derive the number that stands for a file: 62 bits, which no two of a million files share by chance."""
    return int.from_bytes(hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 2


def passages_name(name: str, *made_by: str | int) -> str:
    """Name the Qdrant collection of passages: those that cannot be compared are in different ones."""
    written = json.dumps([FORMAT, *made_by])
    return f"{name}-passages-{hashlib.blake2b(written.encode(), digest_size=5).hexdigest()}"


def catalogue_name(name: str) -> str:
    """Name the Qdrant collection of the catalogue."""
    return f"{name}-catalogue"


def point_id(*parts: str) -> str:
    """Derive the id of a point from what it stands for."""
    return str(uuid.uuid5(_NAMESPACE, "\0".join(parts)))


_NAMESPACE: Final = uuid.UUID("3d4e7f10-52a1-5c7e-9b0e-0f6a7c1d2b98")
