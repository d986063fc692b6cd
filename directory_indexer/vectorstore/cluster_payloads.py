"""What the points of a cluster index say: records as payloads and back."""

from __future__ import annotations

from typing import Any, Final

from qdrant_client import models

from directory_indexer.chunker.chunks import Chunk, LineCut
from directory_indexer.errors import VectorStoreError
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

MEANING: Final = "meaning"
WORDS: Final = "words"
"""The names of the vectors of a passage: the dense and the sparse one."""

MANIFEST_ID: Final = point_id("manifest")
FILE, WORD, MANIFEST = "file", "word", "manifest"


def passage_id(new: NewPassage) -> str:
    """Derive the id of the point of a passage: another text of the same file has other ones."""
    return point_id("passage", new.passage.path, new.revision, str(new.passage.chunk.ordinal))


def passage_point(new: NewPassage, *, since: int) -> models.PointStruct:
    """Write a passage that counts from a version on."""
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
    """Read a passage."""
    chunk = Chunk(**{name: payload[name] for name in Chunk._fields})
    return ClusterPassage(
        chunk_id_of(payload["chunk_id"]),
        FilePath(payload["path"]),
        FileFacts(*(payload[name] for name in FileFacts._fields)),
        chunk._replace(line_cut=LineCut(chunk.line_cut)),
    )


def found_passage(point: models.ScoredPoint) -> FoundPassage:
    """Read a passage that a list has."""
    payload = point.payload or {}
    return FoundPassage(str(point.id), payload["file"], passage_in(payload), point.score)


def file_point(file: ClusterFile, *, version: int) -> models.PointStruct:
    """Write a file of the catalogue."""
    payload = {**file._asdict(), "facts": file.facts._asdict(), "metadata": [list(one) for one in file.metadata]}
    return _record(FILE, file.path, {**payload, "is_gone": False}, version)


def gone_point(path: FilePath, *, version: int) -> models.PointStruct:
    """Write of a file that it is gone."""
    return _record(FILE, path, {"path": path, "is_gone": True}, version)


def file_in(payload: dict[str, Any]) -> ClusterFile | FilePath:
    """Read a file of the catalogue; of one that is gone, its path."""
    if payload["is_gone"]:
        return FilePath(payload["path"])
    known = {name: payload[name] for name in ClusterFile._fields}
    metadata = tuple((name, value) for name, value in payload["metadata"])
    return ClusterFile(**{**known, "facts": FileFacts(**payload["facts"]), "metadata": metadata})


def word_point(word: WordCount, *, version: int) -> models.PointStruct:
    """Write in how many chunks a word is."""
    return _record(WORD, word.word, {**word._asdict(), "is_gone": not word.n_chunks}, version)


def word_in(payload: dict[str, Any]) -> WordCount:
    """Read in how many chunks a word is."""
    return WordCount(payload["word"], payload["n_chunks"])


def manifest_point(manifest: Manifest) -> models.PointStruct:
    """Write the manifest."""
    return models.PointStruct(id=MANIFEST_ID, vector={}, payload={"record": MANIFEST, **manifest.to_json()})


def manifest_in(payload: dict[str, Any]) -> Manifest:
    """Read the manifest.

    Raises:
        VectorStoreError: another version of dirindex wrote it.
    """
    if payload.get("format") != FORMAT:
        raise VectorStoreError(
            "the cluster index was written by another version of dirindex",
            hint="use the same version on the machine that indexes and on the servers",
        )
    return Manifest.from_json(payload)


def _record(kind: str, name: str, payload: dict[str, Any], version: int) -> models.PointStruct:
    return models.PointStruct(
        id=point_id(kind, name), vector={}, payload={"record": kind, "version": version, **payload}
    )
