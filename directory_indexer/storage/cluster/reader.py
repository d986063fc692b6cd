"""Queries of a cluster index: candidates, passages of files, and the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from qdrant_client import models

from directory_indexer.core.errors import VectorsLostError, VectorStoreError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.sparse import SparseVector
from directory_indexer.storage.cluster.payloads import (
    DENSE_VECTOR,
    FILE,
    MANIFEST,
    MANIFEST_ID,
    SPARSE_VECTOR,
    WORD,
    StoredPoint,
    parse_candidate,
    parse_file,
    parse_manifest,
    parse_passage,
    parse_record,
    parse_word,
)
from directory_indexer.storage.cluster.records import (
    CandidatePassage,
    ClusterFile,
    Manifest,
    WordCount,
    catalogue_collection_name,
    file_key,
)
from directory_indexer.storage.vectors.connection import (
    EXACT_SEARCH,
    CollectionPlan,
    read_consistency_of,
    scroll,
    search_params,
)

with lazily:
    from directory_indexer.storage.cluster.records import ClusterPassage
    from directory_indexer.storage.vectors.connection import QdrantConnection

Record = TypeVar("Record")


class CandidateQuery(NamedTuple):
    """A query for candidates by words, by meaning or by both.

    Each must belong to one of the `file_keys`, unless these are None, and contain all of the `words`.
    """

    sparse: SparseVector | None
    vector: Sequence[float] | None
    file_keys: frozenset[int] | None = None
    words: tuple[str, ...] = ()


class CandidatePassages(NamedTuple):
    """The two lists, best first; empty if it was not requested."""

    by_words: list[CandidatePassage]
    by_meaning: list[CandidatePassage]


class ClusterReader:
    """Read access to a cluster index by name; threads may share it.

    Raises:
        VectorStoreError: from every method, when the server cannot be reached or its response is invalid.
    """

    def __init__(self, connection: QdrantConnection, plan: CollectionPlan) -> None:
        self._connection = connection
        self._plan = plan
        self._catalogue = catalogue_collection_name(plan.name)

    @property
    def name(self) -> str:
        """Return the name of the cluster index."""
        return self._plan.name

    def manifest(self) -> Manifest | None:
        """Return the manifest; None if there is none yet.

        Raises:
            VectorStoreError: another version of dirindex wrote it, or another program.
        """
        try:
            records = self._connection.send_once(
                "read the manifest",
                lambda client: client.retrieve(
                    self._catalogue, [MANIFEST_ID], with_payload=True, consistency=read_consistency_of(self._plan)
                ),
            )
        except VectorsLostError:
            return None
        hint = (
            "use one version of dirindex on all machines; if it is the same, delete the Qdrant collection "
            f"'{self._catalogue}', and the next dirindex index writes it again"
        )
        return StoredPoint(self._catalogue, records[0]).read(parse_manifest, hint=hint) if records else None

    def files(self, *, after: int) -> Iterator[ClusterFile | FilePath]:
        """Yield the files written or removed after a version; only the path of a removed one."""
        return self._records_after_version(FILE, after, parse_file)

    def words(self, *, after: int) -> Iterator[WordCount]:
        """Yield the words whose count changed after a version."""
        return self._records_after_version(WORD, after, parse_word)

    def snapshot_of(self, manifest: Manifest) -> ClusterSnapshot:
        """Return read access to the version of a manifest."""
        return ClusterSnapshot(self._connection, self._plan, manifest)

    def passage_revisions(self, passages: str) -> Iterator[tuple[int, str]]:
        """Yield the file and the revision of every passage."""
        for record in self._scroll(passages, None, _PassageOrigin._fields):
            yield StoredPoint(passages, record).read(partial(parse_record, _PassageOrigin))

    def unreadable(self, passages: str) -> Iterator[tuple[str, models.ExtendedPointId]]:
        """Yield the collection and the id of every point that dirindex did not write."""
        for collection, read in (
            (passages, _require_consistent_passage),
            (self._catalogue, lambda payload: _CATALOGUE_PARSERS[payload["record"]](payload)),
        ):
            for record in self._scroll(collection, None, ()):
                try:
                    StoredPoint(collection, record).read(read)
                except VectorStoreError:
                    yield collection, record.id

    def _records_after_version(
        self, kind: str, after: int, read: Callable[[dict[str, Any]], Record]
    ) -> Iterator[Record]:
        condition = models.Filter(
            must=[
                models.FieldCondition(key="record", match=models.MatchValue(value=kind)),
                models.FieldCondition(key="version", range=models.Range(gt=after)),
            ]
        )
        for record in self._scroll(self._catalogue, condition, ()):
            yield StoredPoint(self._catalogue, record).read(read)

    def _scroll(
        self, collection: str, condition: models.Filter | None, fields: Sequence[str]
    ) -> Iterator[models.Record]:
        send = partial(self._connection.send_with_retries, "read the cluster index")
        return scroll(send, self._plan, collection, condition, fields=fields)


class ClusterSnapshot:
    """One version of a cluster index."""

    def __init__(self, connection: QdrantConnection, plan: CollectionPlan, manifest: Manifest) -> None:
        self.manifest = manifest
        self._connection = connection
        self._plan = plan

    def candidates(self, query: CandidateQuery, *, limit: int) -> CandidatePassages:
        """Return the best passages by words and by meaning, `limit` of each."""
        condition = self._filter(query)
        requests = []
        if query.sparse is not None:
            sparse = models.SparseVector(indices=list(query.sparse.indices), values=list(query.sparse.values))
            requests.append(_query_request(SPARSE_VECTOR, sparse, condition, limit, None))
        if query.vector is not None:
            requests.append(
                _query_request(DENSE_VECTOR, list(query.vector), condition, limit, search_params(self._plan))
            )
        answers = self._connection.send_once(
            "search",
            lambda client: client.query_batch_points(
                self.manifest.passages, requests, consistency=read_consistency_of(self._plan)
            ),
        )
        lists = [[parse_candidate(self.manifest.passages, point) for point in answer.points] for answer in answers]
        by_words = lists.pop(0) if query.sparse is not None else []
        return CandidatePassages(by_words, lists.pop(0) if lists else [])

    def cosines(self, vector: Sequence[float], point_ids: Collection[str]) -> dict[str, float]:
        """Return the cosine similarities of a vector to those of some points, for points that have one."""
        if not point_ids:
            return {}
        response = self._connection.send_once(
            "compare vectors",
            lambda client: client.query_points(
                self.manifest.passages,
                query=list(vector),
                using=DENSE_VECTOR,
                query_filter=models.Filter(must=[models.HasIdCondition(has_id=list(point_ids))]),
                search_params=EXACT_SEARCH,
                limit=len(point_ids),
                with_payload=False,
                consistency=read_consistency_of(self._plan),
            ),
        )
        return {str(point.id): point.score for point in response.points}

    def of_files(self, file_keys: Iterable[int], *, first_only: bool = False) -> list[ClusterPassage]:
        """Return the passages of some files, or the first of each, in the order of the text."""
        conditions = [models.FieldCondition(key="file", match=models.MatchAny(any=list(file_keys)))]
        if first_only:
            conditions.append(models.FieldCondition(key="ordinal", match=models.MatchValue(value=0)))
        condition = models.Filter(must=[*conditions, *self._valid_now])
        send = partial(self._connection.send_once, "read passages")
        records = scroll(send, self._plan, self.manifest.passages, condition)
        passages = [StoredPoint(self.manifest.passages, record).read(parse_passage) for record in records]
        return sorted(passages, key=lambda passage: (passage.path, passage.chunk.ordinal))

    def _filter(self, query: CandidateQuery) -> models.Filter:
        conditions: list[models.Condition] = list(self._valid_now)
        if query.file_keys is not None:
            conditions.append(models.FieldCondition(key="file", match=models.MatchAny(any=sorted(query.file_keys))))
        conditions += [models.FieldCondition(key="words", match=models.MatchText(text=word)) for word in query.words]
        return models.Filter(must=conditions)

    @property
    def _valid_now(self) -> list[models.FieldCondition]:
        return [
            models.FieldCondition(key="since", range=models.Range(lte=self.manifest.version)),
            models.FieldCondition(key="until", range=models.Range(gt=self.manifest.version)),
        ]


def _query_request(
    using: str, query: Any, condition: models.Filter, limit: int, params: models.SearchParams | None
) -> models.QueryRequest:
    return models.QueryRequest(
        query=query, using=using, filter=condition, limit=limit, params=params, with_payload=True
    )


class _PassageOrigin(NamedTuple):
    file: int
    revision: str


def _require_consistent_passage(payload: dict[str, Any]) -> None:
    passage, origin = parse_passage(payload), parse_record(_PassageOrigin, payload)
    if origin.file != file_key(passage.path):
        raise ValueError("it is not of the file that it names")


_CATALOGUE_PARSERS: Final[dict[str, Callable[[dict[str, Any]], object]]] = {
    FILE: parse_file,
    WORD: parse_word,
    MANIFEST: parse_manifest,
}
