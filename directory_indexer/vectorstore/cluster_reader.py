"""Reads a cluster index: candidates, passages of files, and the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from qdrant_client import QdrantClient, models

from directory_indexer.errors import VectorsLostError, VectorStoreError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.relevance.sparse import SparseVector
from directory_indexer.vectorstore.cluster import (
    ClusterFile,
    FoundPassage,
    Manifest,
    WordCount,
    catalogue_name,
    file_key,
)
from directory_indexer.vectorstore.cluster_payloads import (
    FILE,
    MANIFEST,
    MANIFEST_ID,
    MEANING,
    WORD,
    WORDS,
    file_in,
    found_passage,
    manifest_in,
    passage_in,
    word_in,
)
from directory_indexer.vectorstore.cluster_records import Stored, record_in
from directory_indexer.vectorstore.collection import EXACTLY, CollectionPlan, consistency_of, search_params

with lazily:
    from directory_indexer.vectorstore.cluster import ClusterPassage
    from directory_indexer.vectorstore.connection import Connection

Record = TypeVar("Record")

_PAGE: Final = 1000


class Question(NamedTuple):
    """What candidates are asked for: by words, by meaning or by both.

    Each must lie in one of the `file_keys`, unless these are None, and have all of the `words`.
    """

    sparse: SparseVector | None
    vector: Sequence[float] | None
    file_keys: frozenset[int] | None = None
    words: tuple[str, ...] = ()


class Candidates(NamedTuple):
    """The two lists, best first; empty where one was not asked for."""

    by_words: list[FoundPassage]
    by_meaning: list[FoundPassage]


class ClusterReader:
    """What a cluster index of a name says; threads may share it.

    Raises:
        VectorStoreError: from every method, when the server cannot be reached or answers nonsense.
    """

    def __init__(self, connection: Connection, plan: CollectionPlan) -> None:
        self._connection = connection
        self._plan = plan
        self._catalogue = catalogue_name(plan.name)

    @property
    def name(self) -> str:
        """Name the cluster index."""
        return self._plan.name

    def manifest(self) -> Manifest | None:
        """Read the manifest; None where nobody has written one.

        Raises:
            VectorStoreError: another version of dirindex wrote it, or something else.
        """
        try:
            records = self._connection.ask(
                "read the manifest",
                lambda client: client.retrieve(
                    self._catalogue, [MANIFEST_ID], with_payload=True, consistency=consistency_of(self._plan)
                ),
            )
        except VectorsLostError:
            return None
        hint = (
            "use one version of dirindex on all machines; if it is the same, delete the Qdrant collection "
            f"'{self._catalogue}', and the next dirindex index writes it again"
        )
        return Stored(self._catalogue, records[0]).read(manifest_in, hint=hint) if records else None

    def files(self, *, after: int) -> Iterator[ClusterFile | FilePath]:
        """Read the files that were written or went after a version; of those that went, the path."""
        return self._records(FILE, after, file_in)

    def words(self, *, after: int) -> Iterator[WordCount]:
        """Read the words whose count changed after a version."""
        return self._records(WORD, after, word_in)

    def at(self, manifest: Manifest) -> ClusterMoment:
        """Give the version that a manifest names."""
        return ClusterMoment(self._connection, self._plan, manifest)

    def standing(self, passages: str) -> Iterator[tuple[int, str]]:
        """Give the file and the revision of every passage that is there."""
        for record in self._scrolled(passages, None, _Standing._fields):
            yield Stored(passages, record).read(_standing_in)

    def unreadable(self, passages: str) -> Iterator[tuple[str, models.ExtendedPointId]]:
        """Give the collection and the id of every point that is not what dirindex writes."""
        for collection, read in ((passages, _whole_passage_in), (self._catalogue, _catalogued_in)):
            for record in self._scrolled(collection, None, ()):
                try:
                    Stored(collection, record).read(read)
                except VectorStoreError:
                    yield collection, record.id

    def _records(self, kind: str, after: int, read: Callable[[dict[str, Any]], Record]) -> Iterator[Record]:
        wanted = models.Filter(
            must=[
                models.FieldCondition(key="record", match=models.MatchValue(value=kind)),
                models.FieldCondition(key="version", range=models.Range(gt=after)),
            ]
        )
        for record in self._scrolled(self._catalogue, wanted, ()):
            yield Stored(self._catalogue, record).read(read)

    def _scrolled(
        self, collection: str, wanted: models.Filter | None, fields: Sequence[str]
    ) -> Iterator[models.Record]:
        offset: Any = None
        while True:
            page = partial(
                QdrantClient.scroll,
                collection_name=collection,
                scroll_filter=wanted,
                limit=_PAGE,
                offset=offset,
                with_payload=list(fields) or True,
                consistency=consistency_of(self._plan),
            )
            records, offset = self._connection.insist("read the cluster index", page)
            yield from records
            if offset is None:
                return


class ClusterMoment:
    """One version of a cluster index."""

    def __init__(self, connection: Connection, plan: CollectionPlan, manifest: Manifest) -> None:
        self.manifest = manifest
        self._connection = connection
        self._plan = plan

    def candidates(self, question: Question, *, limit: int) -> Candidates:
        """Give the best passages by words and by meaning, so many of each."""
        wanted = self._among(question)
        requests = []
        if question.sparse is not None:
            sparse = models.SparseVector(indices=list(question.sparse.indices), values=list(question.sparse.values))
            requests.append(_request(WORDS, sparse, wanted, limit, None))
        if question.vector is not None:
            requests.append(_request(MEANING, list(question.vector), wanted, limit, search_params(self._plan)))
        answers = self._connection.ask(
            "search",
            lambda client: client.query_batch_points(
                self.manifest.passages, requests, consistency=consistency_of(self._plan)
            ),
        )
        lists = [[found_passage(self.manifest.passages, point) for point in one.points] for one in answers]
        by_words = lists.pop(0) if question.sparse is not None else []
        return Candidates(by_words, lists.pop(0) if lists else [])

    def cosines(self, vector: Sequence[float], point_ids: Collection[str]) -> dict[str, float]:
        """Compare a vector with those of some points, as far as they have one."""
        if not point_ids:
            return {}
        found = self._connection.ask(
            "compare vectors",
            lambda client: client.query_points(
                self.manifest.passages,
                query=list(vector),
                using=MEANING,
                query_filter=models.Filter(must=[models.HasIdCondition(has_id=list(point_ids))]),
                search_params=EXACTLY,
                limit=len(point_ids),
                with_payload=False,
                consistency=consistency_of(self._plan),
            ),
        )
        return {str(point.id): point.score for point in found.points}

    def of_files(self, file_keys: Iterable[int], *, first_only: bool = False) -> list[ClusterPassage]:
        """Give the passages of some files, or the first of each, in the order of their places."""
        conditions = [models.FieldCondition(key="file", match=models.MatchAny(any=list(file_keys)))]
        if first_only:
            conditions.append(models.FieldCondition(key="ordinal", match=models.MatchValue(value=0)))
        wanted = models.Filter(must=[*conditions, *self._counting])
        found: list[ClusterPassage] = []
        offset: Any = None
        while True:
            page = partial(
                QdrantClient.scroll,
                collection_name=self.manifest.passages,
                scroll_filter=wanted,
                limit=_PAGE,
                offset=offset,
                with_payload=True,
                consistency=consistency_of(self._plan),
            )
            records, offset = self._connection.ask("read passages", page)
            found += [Stored(self.manifest.passages, record).read(passage_in) for record in records]
            if offset is None:
                return sorted(found, key=lambda one: (one.path, one.chunk.ordinal))

    def _among(self, question: Question) -> models.Filter:
        conditions: list[models.Condition] = list(self._counting)
        if question.file_keys is not None:
            conditions.append(models.FieldCondition(key="file", match=models.MatchAny(any=sorted(question.file_keys))))
        conditions += [models.FieldCondition(key="words", match=models.MatchText(text=one)) for one in question.words]
        return models.Filter(must=conditions)

    @property
    def _counting(self) -> list[models.FieldCondition]:
        return [
            models.FieldCondition(key="since", range=models.Range(lte=self.manifest.version)),
            models.FieldCondition(key="until", range=models.Range(gt=self.manifest.version)),
        ]


def _request(
    using: str, query: Any, wanted: models.Filter, limit: int, params: models.SearchParams | None
) -> models.QueryRequest:
    return models.QueryRequest(query=query, using=using, filter=wanted, limit=limit, params=params, with_payload=True)


class _Standing(NamedTuple):
    file: int
    revision: str


def _standing_in(payload: dict[str, Any]) -> tuple[int, str]:
    return record_in(_Standing, payload)


def _whole_passage_in(payload: dict[str, Any]) -> None:
    passage, standing = passage_in(payload), record_in(_Standing, payload)
    if standing.file != file_key(passage.path):
        raise ValueError("it is not of the file that it names")


def _catalogued_in(payload: dict[str, Any]) -> object:
    return _CATALOGUED[payload["record"]](payload)


_CATALOGUED: Final[dict[str, Callable[[dict[str, Any]], object]]] = {
    FILE: file_in,
    WORD: word_in,
    MANIFEST: manifest_in,
}
