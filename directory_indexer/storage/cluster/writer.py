"""Writes to a cluster index; the caller holds the write lock of its index and is the only writer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from qdrant_client import QdrantClient, models

from directory_indexer.core.batching import batched
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.cluster.payloads import (
    DENSE_VECTOR,
    SPARSE_VECTOR,
    file_point,
    manifest_point,
    passage_id,
    passage_point,
    removed_file_point,
    word_point,
)
from directory_indexer.storage.cluster.records import (
    NO_END_VERSION,
    ClusterFile,
    Manifest,
    NewPassage,
    WordCount,
    catalogue_collection_name,
    file_key,
)
from directory_indexer.storage.vectors.connection import CollectionPlan, quantization_config

with lazily:
    from directory_indexer.storage.vectors.connection import QdrantConnection

_CATALOGUE_BATCH: Final = 1000
_PASSAGE_BATCH: Final = 200
"""Some 2 MB: a passage takes 10 KB of JSON with a vector of 384 numbers."""

_FILES_BATCH: Final = 500


class ClusterWriter:
    """Writes to a cluster index; every method waits for the acknowledgement, and can be repeated safely.

    Raises:
        VectorStoreError: from every method, when the server cannot be reached or refuses.
    """

    def __init__(self, connection: QdrantConnection, plan: CollectionPlan) -> None:
        self._insist = connection.send_with_retries
        self._plan = plan
        self._catalogue = catalogue_collection_name(plan.name)

    def prepare(self, passages: str, *, dimensions: int) -> None:
        """Create missing Qdrant collections."""
        self._insist("prepare the cluster index", lambda client: self._prepare(client, passages, dimensions))

    def drop_passages(self, passages: str) -> None:
        """Delete a Qdrant collection of passages."""
        self._insist("delete passages", lambda client: client.delete_collection(passages))

    def undo_unpublished(self, passages: str, version: int) -> None:
        """Undo writes after the current version, and delete passages that are no longer valid in it."""
        later = models.FieldCondition(key="since", range=models.Range(gt=version))
        self._delete_where(passages, later)
        self.delete_ended(passages, version)
        ending = models.FieldCondition(key="until", range=models.Range(gt=version, lt=NO_END_VERSION))
        self._set_end_version(passages, NO_END_VERSION, ending)

    def put_passages(self, passages: str, new: Iterable[NewPassage], *, since: int) -> None:
        """Write passages that are valid from a version on."""
        self._upsert(passages, (passage_point(passage, since=since) for passage in new), _PASSAGE_BATCH)

    def add_vectors(self, passages: str, of: Iterable[NewPassage]) -> None:
        """Add vectors to existing passages, which makes them searchable by meaning."""
        vectors = ((passage_id(new), new.vector) for new in of if new.vector is not None)
        points = (models.PointVectors(id=id_, vector={DENSE_VECTOR: list(vector)}) for id_, vector in vectors)
        for batch in batched(points, _PASSAGE_BATCH):
            self._insist(
                "write vectors", partial(QdrantClient.update_vectors, collection_name=passages, points=batch, wait=True)
            )

    def end(self, passages: str, files: Sequence[FilePath], *, before: int) -> None:
        """End the validity of the current passages of some files before a version."""
        for batch in batched(map(file_key, files), _FILES_BATCH):
            self._set_end_version(
                *(passages, before),
                models.FieldCondition(key="file", match=models.MatchAny(any=batch)),
                models.FieldCondition(key="since", range=models.Range(lt=before)),
                models.FieldCondition(key="until", range=models.Range(gte=NO_END_VERSION)),
            )

    def delete_ended(self, passages: str, version: int) -> None:
        """Delete the passages that are no longer valid in a version."""
        ended = models.FieldCondition(key="until", range=models.Range(lte=version))
        self._delete_where(passages, ended)

    def delete_files(self, passages: str, file_keys: Iterable[int]) -> None:
        """Delete all passages of some files."""
        for batch in batched(file_keys, _FILES_BATCH):
            self._delete_where(passages, models.FieldCondition(key="file", match=models.MatchAny(any=batch)))

    def delete_points(self, collection: str, ids: Iterable[models.ExtendedPointId]) -> None:
        """Delete some points."""
        for batch in batched(ids, _CATALOGUE_BATCH):
            self._delete_points(collection, models.PointIdsList(points=batch))

    def put_files(self, files: Iterable[ClusterFile], gone: Iterable[FilePath], *, version: int) -> None:
        """Write files and removals of files to the catalogue."""
        self._upsert(self._catalogue, (file_point(file, version=version) for file in files))
        self._upsert(self._catalogue, (removed_file_point(path, version=version) for path in gone))

    def put_words(self, words: Iterable[WordCount], *, version: int) -> None:
        """Write the chunk counts of words."""
        self._upsert(self._catalogue, (word_point(word, version=version) for word in words))

    def put_manifest(self, manifest: Manifest) -> None:
        """Publish a version to readers."""
        self._upsert(self._catalogue, [manifest_point(manifest)])

    def delete_removed(self, version: int) -> None:
        """Delete the records of files and words removed up to a version."""
        self._delete_where(
            self._catalogue,
            models.FieldCondition(key="is_gone", match=models.MatchValue(value=True)),
            models.FieldCondition(key="version", range=models.Range(lte=version)),
        )

    def _prepare(self, client: QdrantClient, passages: str, dimensions: int) -> None:
        if not client.collection_exists(self._catalogue):
            self._create_collection(client, self._catalogue, vectors={})
        if not client.collection_exists(passages):
            meaning = models.VectorParams(size=dimensions, distance=models.Distance.COSINE, on_disk=self._plan.on_disk)
            self._create_collection(
                client, passages, vectors={DENSE_VECTOR: meaning} if dimensions else {}, has_words=True
            )
        for name, indexes in ((self._catalogue, _CATALOGUE_INDEXES), (passages, _PASSAGE_INDEXES)):
            known = client.get_collection(name).payload_schema
            for field in (field for field in indexes if field not in known):
                client.create_payload_index(name, field, field_schema=indexes[field], wait=True)

    def _create_collection(
        self, client: QdrantClient, name: str, *, vectors: dict[str, models.VectorParams], has_words: bool = False
    ) -> None:
        client.create_collection(
            name,
            vectors_config=vectors,
            sparse_vectors_config={SPARSE_VECTOR: models.SparseVectorParams(modifier=models.Modifier.IDF)}
            if has_words
            else None,
            shard_number=self._plan.shard_number,
            replication_factor=self._plan.replication_factor,
            write_consistency_factor=self._plan.write_consistency_factor,
            on_disk_payload=True,
            quantization_config=quantization_config(self._plan.quantization) if vectors else None,
        )

    def _upsert(
        self, collection: str, points: Iterable[models.PointStruct], batch_size: int = _CATALOGUE_BATCH
    ) -> None:
        for batch in batched(points, batch_size):
            self._insist(
                "write the cluster index",
                partial(QdrantClient.upsert, collection_name=collection, points=batch, wait=True),
            )

    def _delete_where(self, collection: str, *conditions: models.Condition) -> None:
        self._delete_points(collection, models.FilterSelector(filter=models.Filter(must=list(conditions))))

    def _delete_points(self, collection: str, selector: models.PointsSelector) -> None:
        self._insist("delete from the cluster index", lambda client: client.delete(collection, selector, wait=True))

    def _set_end_version(self, passages: str, version: int, *conditions: models.Condition) -> None:
        chosen = models.Filter(must=list(conditions))
        self._insist(
            "write the cluster index",
            lambda client: client.set_payload(passages, {"until": version}, points=chosen, wait=True),
        )


_INTEGER: Final = models.PayloadSchemaType.INTEGER
_CATALOGUE_INDEXES: Final[Mapping[str, Any]] = {
    "record": models.PayloadSchemaType.KEYWORD,
    "version": _INTEGER,
    "is_gone": models.PayloadSchemaType.BOOL,
}
_PASSAGE_INDEXES: Final[Mapping[str, Any]] = {
    "file": _INTEGER,
    "since": _INTEGER,
    "until": _INTEGER,
    "ordinal": _INTEGER,
    # The words are tokenized already: only white space separates them.
    "words": models.TextIndexParams(
        type=models.TextIndexType.TEXT, tokenizer=models.TokenizerType.WHITESPACE, min_token_len=1, lowercase=False
    ),
}
