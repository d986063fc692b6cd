"""A prototype of searching a Qdrant collection alone, by servers that have no database: text, words and vectors there.

Each point has the text of its chunk, its vector, and a sparse vector of its words: the part of BM25 that depends on the
passage, for which Qdrant multiplies by the inverse document frequency (`Modifier.IDF`). A second collection has a point
for each word, with the number of chunks that it is in; a server reads all of them when it starts. A question takes two
requests: one for both lists of candidates, and one for the cosines of what only the words found. The candidates are
judged by the product's own ranking. It runs in the client's local mode, which compares exactly.
"""

from __future__ import annotations

import uuid
import zlib
from bisect import bisect_left
from collections import Counter
from itertools import takewhile
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import Stemmer
from qdrant_client import QdrantClient, models

from directory_indexer.embedders.models import judged_as
from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.relevance.analyzer import FTS_WEIGHTS, index_fields, words
from directory_indexer.relevance.candidates import DEPTH, Candidate
from directory_indexer.relevance.languages import NAMES
from directory_indexer.relevance.matchplan import plan_match
from directory_indexer.relevance.query import parse_query
from directory_indexer.relevance.ranking import rank
from directory_indexer.searching.answers import SearchMode
from evaluation.asking import IndexedCorpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from directory_indexer.app import App
    from directory_indexer.docstore.chunks import IndexedChunk
    from directory_indexer.docstore.snapshot import Snapshot
    from evaluation.sets import RetrievalSet


def measured_in_cluster(one: RetrievalSet, data_dir: Path) -> Iterator[str]:
    """Give a line for each corpus: nDCG@10 by both of the product, and of a search that asks Qdrant alone."""
    for root, questions in one.repositories():
        corpus = IndexedCorpus(
            one.corpus, root, data_dir / (f"{one.name}/{root.name}" if questions[0].repository else one.name)
        )
        cluster = Cluster(corpus.app)
        ours = [corpus.measure_first_hits(question, SearchMode.HYBRID)["nDCG@10"] for question in questions]
        theirs = [
            corpus.measure_paths(question, cluster.search(question.text, limit=10))["nDCG@10"] for question in questions
        ]
        cluster.close()
        corpus.close()
        figures = f"today {fmean(ours):.3f}   in the cluster alone {fmean(theirs):.3f}"
        yield f"{root.name:24} {len(questions):5} questions   {figures}"


_COLLECTION, _WORDS = "passages", "words"
_SATURATION, _LENGTH = 1.2, 0.75
"""k1 and b of BM25, as FTS5 has them."""
_OTHER_FORM = 0.6
"""What a word in another form than the typed one counts, as in the product."""
_BATCH = 500
_PAGE = 10_000


class Cluster:
    """The chunks of an index in a Qdrant collection, and searches that ask nothing but that."""

    def __init__(self, app: App) -> None:
        self._embedder = app.embedders.of(None)
        self._model = judged_as(self._embedder.space)
        self._client = QdrantClient(":memory:")
        self._client.create_collection(
            _COLLECTION,
            vectors_config={
                "meaning": models.VectorParams(size=self._embedder.space.dimensions, distance=models.Distance.COSINE)
            },
            sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        self._client.create_collection(_WORDS, vectors_config={})
        with app.docstore.snapshot() as snapshot:
            chunks = [chunk for path in snapshot.files.paths() for chunk in snapshot.chunks.of_file(path)]
            self._fill(app, snapshot, chunks)
            self._vocabulary = self._read_words(len(chunks), snapshot.words.languages)

    def close(self) -> None:
        """Forget the collection."""
        self._client.close()

    def search(self, text: str, *, limit: int) -> list[str]:
        """Give the paths of the best passages, best first, one for each passage."""
        query = parse_query(text)
        vector = self._embedder.embed_query(query.meaning).tolist()
        tokens = list(dict.fromkeys(token for word in query.words for token in word.tokens))
        asked = _as_query(tokens, query.language)
        by_words, by_meaning = (
            {point.id: point for point in one.points}
            for one in self._client.query_batch_points(
                _COLLECTION, [_request("words", asked), _request("meaning", vector)]
            )
        )
        cosines = {key: point.score for key, point in by_meaning.items()} | self._cosines(
            vector, by_words.keys() - by_meaning.keys()
        )
        payloads = {key: point.payload or {} for key, point in (by_words | by_meaning).items()}
        candidates = [
            Candidate(
                **payload,
                chunk_id=uuid.UUID(key).bytes,  # type: ignore[arg-type]  # an id is 16 bytes
                keyword_score=by_words[key].score if key in by_words else None,
                semantic_score=by_meaning[key].score if key in by_meaning else None,
                cosine=cosines.get(key),
            )
            for key, payload in payloads.items()
        ]
        ranking = rank(plan_match(query, self._vocabulary), candidates, limit=limit, model=self._model)
        return [payloads[str(uuid.UUID(bytes=bytes(hit.chunk_id)))]["path"] for hit in ranking.hits]

    def _fill(self, app: App, snapshot: Snapshot, chunks: Sequence[IndexedChunk]) -> None:
        fields = [_words_of(chunk) for chunk in chunks]
        usual = sum(one.length for one in fields) / max(len(fields), 1)
        pairs = list(zip(chunks, fields, strict=True))
        for start in range(0, len(pairs), _BATCH):
            some = pairs[start : start + _BATCH]
            vectors = app.nearest.vectors(snapshot, [chunk.chunk_id for chunk, _ in some])
            self._client.upsert(
                _COLLECTION, [_point(chunk, found, vectors[chunk.chunk_id], usual) for chunk, found in some]
            )

        found = Counter(word for one in fields for word in one.counts if not word.startswith(_STEM))
        points = [
            models.PointStruct(id=number, vector={}, payload={"word": word, "n_chunks": n})
            for number, (word, n) in enumerate(found.items())
        ]
        for start in range(0, len(points), _BATCH):
            self._client.upsert(_WORDS, points[start : start + _BATCH])

    def _read_words(self, n_chunks: int, languages: tuple[str, ...]) -> _Vocabulary:
        n_with: dict[str, int] = {}
        offset: Any = None
        while True:
            points, offset = self._client.scroll(_WORDS, limit=_PAGE, offset=offset)
            n_with |= {point.payload["word"]: point.payload["n_chunks"] for point in points if point.payload}
            if offset is None:
                return _Vocabulary(n_chunks, languages, tuple(sorted(n_with)), n_with)

    def _cosines(self, vector: Sequence[float], keys: Iterable[Any]) -> dict[Any, float]:
        wanted = list(keys)
        if not wanted:
            return {}
        answer = self._client.query_points(
            _COLLECTION,
            query=list(vector),
            using="meaning",
            query_filter=models.Filter(must=[models.HasIdCondition(has_id=wanted)]),
            limit=len(wanted),
        )
        return {point.id: point.score for point in answer.points}


class _Words(NamedTuple):
    """How often a chunk has each word, those of its heading and names counted as the product weighs them."""

    counts: Counter[str]
    length: int
    language: str


class _Vocabulary(NamedTuple):
    """The words of the cluster, sorted, and in how many chunks each is."""

    n_chunks: int
    languages: tuple[str, ...]
    words: tuple[str, ...]
    n_with: Mapping[str, int]

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: self.n_with[term] for term in terms if term in self.n_with}

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        first = bisect_left(self.words, prefix)
        found = takewhile(lambda word: word.startswith(prefix), self.words[first : first + limit])
        return [(word, self.n_with[word]) for word in found]

    def ending_with(self, suffix: str, *, limit: int) -> list[tuple[str, int]]:
        return [(word, self.n_with[word]) for word in self.words if word.endswith(suffix)][:limit]


def _words_of(chunk: IndexedChunk) -> _Words:
    facts, language = chunk.facts, NAMES.get(chunk.facts.language, "english")
    fields = index_fields(text=chunk.chunk.text, heading=chunk.chunk.heading, title=facts.title, path=chunk.path)
    counts: Counter[str] = Counter()
    length = 0
    for field, weight in zip(fields, FTS_WEIGHTS, strict=True):
        found = words(field)
        length += len(found)
        for word in found:
            counts[word] += weight  # type: ignore[assignment]  # weights have fractions
            counts[_stem_of(word, language)] += weight  # type: ignore[assignment]  # as above
    return _Words(counts, length, language)


def _point(chunk: IndexedChunk, found: _Words, vector: np.ndarray[Any, Any], usual: float) -> models.PointStruct:
    spread = _SATURATION * (1 - _LENGTH + _LENGTH * found.length / usual)
    parts = {word: n * (_SATURATION + 1) / (n + spread) for word, n in found.counts.items()}
    return models.PointStruct(
        id=str(uuid.UUID(bytes=bytes(chunk.chunk_id))),
        vector={"meaning": vector.tolist(), "words": _sparse(parts)},
        payload={
            "path": chunk.path,
            "ordinal": chunk.chunk.ordinal,
            "is_code": chunk.facts.kind in GROUPS["code"],
            "title": chunk.facts.title,
            "heading": chunk.chunk.heading,
            "text": chunk.chunk.text,
            "language": chunk.facts.language,
        },
    )


def _as_query(tokens: Sequence[str], language: str) -> models.SparseVector:
    typed = dict.fromkeys(tokens, 1 - _OTHER_FORM)
    return _sparse(typed | {_stem_of(token, language): _OTHER_FORM for token in tokens})


def _sparse(parts: Mapping[str, float]) -> models.SparseVector:
    """Two words may share an index; of 100,000 different ones each does with a chance of one in 43,000."""
    by_index: dict[int, float] = {}
    for word, value in parts.items():
        by_index[_index(word)] = max(value, by_index.get(_index(word), 0.0))
    return models.SparseVector(indices=list(by_index), values=list(by_index.values()))


def _index(word: str) -> int:
    return zlib.crc32(word.encode())


def _stem_of(word: str, language: str) -> str:
    """Give the key of all forms of a word; a zero byte keeps it apart from words."""
    stemmer = _STEMMERS.get(language)
    return f"{_STEM}{stemmer.stemWord(word) if stemmer else word}"


_STEM = "\0"
_STEMMERS = {name: Stemmer.Stemmer(name) for name in Stemmer.algorithms()}


def _request(using: str, query: Any) -> models.QueryRequest:
    return models.QueryRequest(query=query, using=using, limit=DEPTH, with_payload=True)
