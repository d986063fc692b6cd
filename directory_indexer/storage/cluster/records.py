"""The cluster index: the texts, words and vectors of one index in Qdrant collections of its own.

Servers without a database answer from it alone. One Qdrant collection has the passages, another one the catalogue: the
files, the words with the number of chunks that contain them, and the manifest, which describes the rest. The invariant
it guards: a reader sees one version. A passage is valid from the version `since` until the version `until`; new
passages are written first, then the manifest names their version, then the old ones are deleted.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from directory_indexer.chunking.chunks import Chunk
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import FileFacts
from directory_indexer.ranking.sparse import SparseVector

FORMAT: Final = 2
"""Changes whenever an older dirindex would misread what is written."""

NO_END_VERSION: Final = 2**52
"""The end of validity of a current passage."""


class TrackedDirectory(NamedTuple):
    """A tracked directory of the machine that indexes."""

    path: FilePath
    completed_at: float | None
    n_files: int
    n_bytes: int
    n_chunks: int
    n_embedded: int


class Manifest(NamedTuple):
    """The state of a cluster index: its id, the machine that writes it, and the current version.

    `passages` names the Qdrant collection of the passages. Removals of files and words are recorded from the version
    `kept_from` on; readers of an older version load everything again.
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
        """Return the payload of the manifest's point."""
        directories = [directory._asdict() for directory in self.directories]
        return {**self._asdict(), "format": FORMAT, "space": self.space._asdict(), "directories": directories}


class ClusterFile(NamedTuple):
    """A file of the catalogue; `key` refers to it in passages, `revision` to its text. Times are in nanoseconds."""

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
        """Return the number that refers to the file in passages."""
        return file_key(self.path)


class ClusterPassage(NamedTuple):
    """A passage with the facts of its file."""

    chunk_id: ChunkId
    path: FilePath
    facts: FileFacts
    chunk: Chunk


class NewPassage(NamedTuple):
    """A passage to be written; `words` are all of its words, for a filter."""

    passage: ClusterPassage
    revision: str
    sparse: SparseVector
    words: str
    vector: Sequence[float] | None


class CandidatePassage(NamedTuple):
    """A candidate passage, its point, and its score."""

    point_id: str
    file_key: int
    passage: ClusterPassage
    score: float


class WordCount(NamedTuple):
    """A word and the number of chunks that contain it; 0 if it was removed."""

    word: str
    n_chunks: int


def file_key(path: FilePath) -> int:
    """Derive the number of a file: 62 bits, so that collisions among a million files are improbable."""
    return int.from_bytes(hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 2


def passages_collection_name(name: str, *made_by: str | int) -> str:
    """Return the Qdrant collection of passages: passages that cannot be compared are in different ones."""
    parameters = json.dumps([FORMAT, *made_by])
    return f"{name}-passages-{hashlib.blake2b(parameters.encode(), digest_size=5).hexdigest()}"


def catalogue_collection_name(name: str) -> str:
    """Return the Qdrant collection of the catalogue."""
    return f"{name}-catalogue"


def point_id(*parts: str) -> str:
    """Derive the id of a point from the parts that identify it."""
    return str(uuid.uuid5(_NAMESPACE, "\0".join(parts)))


_NAMESPACE: Final = uuid.UUID("3d4e7f10-52a1-5c7e-9b0e-0f6a7c1d2b98")
