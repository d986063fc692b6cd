"""Conversion of records of a cluster index to the payloads of points, and back.

Payloads are parsed strictly: anybody with write access to the cluster may have written anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from qdrant_client import models

from directory_indexer.chunking.chunks import Chunk
from directory_indexer.core.errors import VectorStoreError
from directory_indexer.core.ids import chunk_id_of, uuid_text
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import FileFacts
from directory_indexer.storage.cluster.records import (
    FORMAT,
    NO_END_VERSION,
    CandidatePassage,
    ClusterFile,
    ClusterPassage,
    Manifest,
    NewPassage,
    WordCount,
    file_key,
    point_id,
)

DENSE_VECTOR: Final = "meaning"
SPARSE_VECTOR: Final = "words"
"""The names of the dense and the sparse vector of a passage."""

MANIFEST_ID: Final = point_id("manifest")
FILE, WORD, MANIFEST = "file", "word", "manifest"

_MAX_TEXT_CHARS: Final = 262_144
"""Twice the possible size of a passage without white space; a search of 20 million characters took half a minute."""

Record = TypeVar("Record")
Point: TypeAlias = models.Record | models.ScoredPoint

REPAIR_HINT: Final = "on the machine that indexes, dirindex doctor --repair writes it again"
_MAX_BITS: Final = 63
"""The number of bits of the largest integer that SQLite stores."""


def passage_id(new: NewPassage) -> str:
    """Derive the id of the point of a passage; another text of the same file has other ids."""
    return point_id("passage", new.passage.path, new.revision, str(new.passage.chunk.ordinal))


def passage_point(new: NewPassage, *, since: int) -> models.PointStruct:
    """Return the point of a passage that is valid from a version on."""
    chunk_id, path, facts, chunk = new.passage
    payload = {
        "file": file_key(path),
        "since": since,
        "until": NO_END_VERSION,
        "revision": new.revision,
        "chunk_id": uuid_text(chunk_id),
        "path": path,
        **facts._asdict(),
        **chunk._asdict(),
        "words": new.words,
    }
    sparse = models.SparseVector(indices=list(new.sparse.indices), values=list(new.sparse.values))
    vectors: dict[str, Any] = {SPARSE_VECTOR: sparse}
    if new.vector is not None:
        vectors[DENSE_VECTOR] = list(new.vector)
    return models.PointStruct(id=passage_id(new), vector=vectors, payload=payload)


def parse_passage(payload: dict[str, Any]) -> ClusterPassage:
    """Parse a passage."""
    location = parse_record(_PassageLocation, payload)
    facts, chunk = parse_record(FileFacts, payload), parse_record(Chunk, payload)
    if len(chunk.text) > _MAX_TEXT_CHARS and len("".join(chunk.text.split())) > _MAX_TEXT_CHARS:
        raise ValueError("text: it is longer than any passage")
    return ClusterPassage(chunk_id_of(location.chunk_id), location.path, facts, chunk)


def parse_candidate(collection: str, point: models.ScoredPoint) -> CandidatePassage:
    """Parse a candidate passage."""
    passage = StoredPoint(collection, point).read(parse_passage)
    return CandidatePassage(str(point.id), file_key(passage.path), passage, point.score)


def file_point(file: ClusterFile, *, version: int) -> models.PointStruct:
    """Return the point of a file of the catalogue."""
    payload = {**file._asdict(), "facts": file.facts._asdict(), "metadata": [list(item) for item in file.metadata]}
    return _record_point(FILE, file.path, {**payload, "is_gone": False}, version)


def removed_file_point(path: FilePath, *, version: int) -> models.PointStruct:
    """Return the point of a file that was removed."""
    return _record_point(FILE, path, {"path": path, "is_gone": True}, version)


def parse_file(payload: dict[str, Any]) -> ClusterFile | FilePath:
    """Parse a file of the catalogue; only its path if it was removed."""
    if payload["is_gone"]:
        return parse_record(_RemovedFilePayload, payload).path
    file = parse_record(ClusterFile, payload)
    bytes.fromhex(file.hash)
    [int(start) for start in file.page_starts.split()]
    return file


def word_point(word: WordCount, *, version: int) -> models.PointStruct:
    """Return the point of the chunk count of a word."""
    return _record_point(WORD, word.word, {**word._asdict(), "is_gone": not word.n_chunks}, version)


def parse_word(payload: dict[str, Any]) -> WordCount:
    """Parse the chunk count of a word."""
    return parse_record(WordCount, payload)


def manifest_point(manifest: Manifest) -> models.PointStruct:
    """Return the point of the manifest."""
    return models.PointStruct(id=MANIFEST_ID, vector={}, payload={"record": MANIFEST, **manifest.to_json()})


def parse_manifest(payload: dict[str, Any]) -> Manifest:
    """Parse the manifest.

    Raises:
        ValueError: another version of dirindex wrote it, or another program.
    """
    if payload.get("format") != FORMAT:
        raise ValueError("format: another version of dirindex wrote it")
    return parse_record(Manifest, payload)


class StoredPoint(NamedTuple):
    """A point and its Qdrant collection."""

    collection: str
    point: Point

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of the point."""
        return self.point.payload or {}

    def read(self, reader: Callable[[dict[str, Any]], Record], *, hint: str = REPAIR_HINT) -> Record:
        """Parse the payload.

        Raises:
            VectorStoreError: dirindex did not write it.
        """
        try:
            return reader(self.payload)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            message = f"point {self.point.id} of the Qdrant collection '{self.collection}' is not as dirindex writes it"
            raise VectorStoreError(f"{message}: {_describe_error(error)}", hint=hint) from error


def parse_record(kind: type[Record], payload: dict[str, Any]) -> Record:
    """Parse a record from the fields of a payload.

    Raises:
        ValueError: a field is missing, has another type, or is too large a number.
    """
    known = {name: payload[name] for name in cast("Any", kind)._fields if name in payload}
    record = _type_adapter(cast("Any", kind)).validate_python(known)
    if not _fits_sqlite_integer(record):
        raise ValueError("it has a number that is too large")
    return cast("Record", record)


class _PassageLocation(NamedTuple):
    chunk_id: str
    path: FilePath


class _RemovedFilePayload(NamedTuple):
    path: FilePath


def _record_point(kind: str, name: str, payload: dict[str, Any], version: int) -> models.PointStruct:
    return models.PointStruct(
        id=point_id(kind, name), vector={}, payload={"record": kind, "version": version, **payload}
    )


def _fits_sqlite_integer(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_fits_sqlite_integer, value))
    return not isinstance(value, int) or value.bit_length() <= _MAX_BITS


def _describe_error(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error) or type(error).__name__
    # The value is left out, since it may be a text.
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


@functools.cache
def _type_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
