"""Conversion of records of a cluster index to the payloads of points, and back."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from qdrant_client import models

from directory_indexer.chunker.chunks import Chunk
from directory_indexer.extractors.document import FileFacts
from directory_indexer.ids import chunk_id_of, uuid_text
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore.cluster import (
    FORMAT,
    STANDING,
    ClusterFile,
    ClusterPassage,
    FoundPassage,
    Manifest,
    NewPassage,
    WordCount,
    file_key,
    point_id,
)
from directory_indexer.vectorstore.cluster_records import Stored, record_in

MEANING: Final = "meaning"
WORDS: Final = "words"
"""The names of the dense and the sparse vector of a passage."""

MANIFEST_ID: Final = point_id("manifest")
FILE, WORD, MANIFEST = "file", "word", "manifest"

_LONGEST_TEXT: Final = 262_144
"""Twice the possible size of a passage without white space; a search of 20 million characters took half a minute."""


def passage_id(new: NewPassage) -> str:
    """Derive the id of the point of a passage; another text of the same file has other ids."""
    return point_id("passage", new.passage.path, new.revision, str(new.passage.chunk.ordinal))


def passage_point(new: NewPassage, *, since: int) -> models.PointStruct:
    """Return the point of a passage that is valid from a version on."""
    chunk_id, path, facts, chunk = new.passage
    payload = {
        "file": file_key(path),
        "since": since,
        "until": STANDING,
        "revision": new.revision,
        "chunk_id": uuid_text(chunk_id),
        "path": path,
        **facts._asdict(),
        **chunk._asdict(),
        "words": new.words,
    }
    sparse = models.SparseVector(indices=list(new.sparse.indices), values=list(new.sparse.values))
    vectors: dict[str, Any] = {WORDS: sparse}
    if new.vector is not None:
        vectors[MEANING] = list(new.vector)
    return models.PointStruct(id=passage_id(new), vector=vectors, payload=payload)


def passage_in(payload: dict[str, Any]) -> ClusterPassage:
    """Parse a passage."""
    location = record_in(_Location, payload)
    facts, chunk = record_in(FileFacts, payload), record_in(Chunk, payload)
    if len(chunk.text) > _LONGEST_TEXT and len("".join(chunk.text.split())) > _LONGEST_TEXT:
        raise ValueError("text: it is longer than any passage")
    return ClusterPassage(chunk_id_of(location.chunk_id), location.path, facts, chunk)


def found_passage(collection: str, point: models.ScoredPoint) -> FoundPassage:
    """Parse a candidate passage."""
    passage = Stored(collection, point).read(passage_in)
    return FoundPassage(str(point.id), file_key(passage.path), passage, point.score)


def file_point(file: ClusterFile, *, version: int) -> models.PointStruct:
    """Return the point of a file of the catalogue."""
    payload = {**file._asdict(), "facts": file.facts._asdict(), "metadata": [list(item) for item in file.metadata]}
    return _record_point(FILE, file.path, {**payload, "is_gone": False}, version)


def gone_point(path: FilePath, *, version: int) -> models.PointStruct:
    """Return the point of a file that was removed."""
    return _record_point(FILE, path, {"path": path, "is_gone": True}, version)


def file_in(payload: dict[str, Any]) -> ClusterFile | FilePath:
    """Parse a file of the catalogue; only its path if it was removed."""
    if payload["is_gone"]:
        return record_in(_RemovedFile, payload).path
    file = record_in(ClusterFile, payload)
    bytes.fromhex(file.hash)
    [int(start) for start in file.page_starts.split()]
    return file


def word_point(word: WordCount, *, version: int) -> models.PointStruct:
    """Return the point of the chunk count of a word."""
    return _record_point(WORD, word.word, {**word._asdict(), "is_gone": not word.n_chunks}, version)


def word_in(payload: dict[str, Any]) -> WordCount:
    """Parse the chunk count of a word."""
    return record_in(WordCount, payload)


def manifest_point(manifest: Manifest) -> models.PointStruct:
    """Return the point of the manifest."""
    return models.PointStruct(id=MANIFEST_ID, vector={}, payload={"record": MANIFEST, **manifest.to_json()})


def manifest_in(payload: dict[str, Any]) -> Manifest:
    """Parse the manifest.

    Raises:
        ValueError: another version of dirindex wrote it, or another program.
    """
    if payload.get("format") != FORMAT:
        raise ValueError("format: another version of dirindex wrote it")
    return record_in(Manifest, payload)


class _Location(NamedTuple):
    chunk_id: str
    path: FilePath


class _RemovedFile(NamedTuple):
    path: FilePath


def _record_point(kind: str, name: str, payload: dict[str, Any], version: int) -> models.PointStruct:
    return models.PointStruct(
        id=point_id(kind, name), vector={}, payload={"record": kind, "version": version, **payload}
    )
