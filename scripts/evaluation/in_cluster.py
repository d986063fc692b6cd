"""A prototype of searching a Qdrant collection alone, by servers that have no database: text, words and vectors there.

Each point has the text of its chunk, its vector, and a sparse vector of its words: the part of BM25 that depends on the
passage, for which Qdrant multiplies by the inverse document frequency (`Modifier.IDF`). A question takes two requests:
one for both lists of candidates and for how rare its words are, and one for the cosines of what only the words found.
The candidates are judged by the product's own ranking. It runs in the client's local mode, which compares exactly.
"""

from __future__ import annotations

import math
import uuid
import zlib
from collections import Counter
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


_COLLECTION = "passages"
_SATURATION, _LENGTH = 1.2, 0.75
"""k1 and b of BM25, as FTS5 has them."""
_OTHER_FORM = 0.6
"""What a word in another form than the typed one counts, as in the product."""
_MOST_SINGLE = 100
_BATCH = 500


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
        with app.docstore.snapshot() as snapshot:
            chunks = [chunk for path in snapshot.files.paths() for chunk in snapshot.chunks.of_file(path)]
            self._languages = snapshot.words.languages
            self._fill(app, snapshot, chunks)

    def close(self) -> None:
        """Forget the collection."""
        self._client.close()

    def search(self, text: str, *, limit: int) -> list[str]:
        """Give the paths of the best passages, best first, one for each passage."""
        query = parse_query(text)
        vector = self._embedder.embed_query(query.meaning).tolist()
        tokens = list(dict.fromkeys(token for word in query.words for token in word.tokens))
        languages = (query.language, *(NAMES[code] for code in self._languages if code in NAMES))
        frequencies = self._frequencies([*tokens, *(_stem_of(token, languages[0]) for token in tokens)])
        asked = _as_query(tokens, languages[0])
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
        vocabulary = _Vocabulary.of(payloads.values(), frequencies, self._n_chunks, self._languages, languages[0])
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
        ranking = rank(plan_match(query, vocabulary), candidates, limit=limit, model=self._model)
        return [payloads[str(uuid.UUID(bytes=bytes(hit.chunk_id)))]["path"] for hit in ranking.hits]

    def _fill(self, app: App, snapshot: Snapshot, chunks: Sequence[IndexedChunk]) -> None:
        self._n_chunks = len(chunks)
        fields = [_words_of(chunk) for chunk in chunks]
        usual = sum(one.length for one in fields) / max(len(fields), 1)
        pairs = list(zip(chunks, fields, strict=True))
        for start in range(0, len(pairs), _BATCH):
            some = pairs[start : start + _BATCH]
            vectors = app.nearest.vectors(snapshot, [chunk.chunk_id for chunk, _ in some])
            self._client.upsert(
                _COLLECTION, [_point(chunk, found, vectors[chunk.chunk_id], usual) for chunk, found in some]
            )

    def _frequencies(self, keys: Sequence[str]) -> dict[str, int]:
        """Tell in how many chunks each word is: the score of the best passage with it alone tells how rare it is.

        A server is asked this in the same request as the candidates.
        """
        requests = [_request("words", _sparse({key: 1.0}), limit=1, with_vectors=True) for key in keys[:_MOST_SINGLE]]
        found = {}
        for key, one in zip(keys, self._client.query_batch_points(_COLLECTION, requests), strict=False):
            for point in one.points:
                sparse = point.vector["words"]  # type: ignore[index,call-overload]  # it was asked for by name
                value = dict(zip(sparse.indices, sparse.values, strict=True))[_index(key)]
                odds = math.exp(point.score / value) - 1
                found[key] = max(round((self._n_chunks + 0.5 - 0.5 * odds) / (odds + 1)), 1)
        return found

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
    """What a plan asks of an index, told from the candidates: forms that none of them has change no order."""

    n_chunks: int
    languages: tuple[str, ...]
    forms: tuple[tuple[str, int], ...]
    frequencies: Mapping[str, int]

    @classmethod
    def of(
        cls,
        payloads: Iterable[Mapping[str, Any]],
        frequencies: Mapping[str, int],
        n_chunks: int,
        languages: tuple[str, ...],
        language: str,
    ) -> _Vocabulary:
        seen = {word for one in payloads for word in words(f"{one['text']}\n{one['heading']}\n{one['title']}")}
        known = {word: frequencies.get(word, frequencies.get(_stem_of(word, language), 0)) for word in seen}
        forms = {word: n for word, n in known.items() if n} | {w: n for w, n in frequencies.items() if "\0" not in w}
        return cls(n_chunks, languages, tuple(sorted(forms.items())), frequencies)

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        known = dict(self.forms)
        return {term: known[term] for term in terms if term in known}

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        return [one for one in self.forms if one[0].startswith(prefix)][:limit]

    def ending_with(self, suffix: str, *, limit: int) -> list[tuple[str, int]]:
        return [one for one in self.forms if one[0].endswith(suffix)][:limit]


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
    return f"\0{stemmer.stemWord(word) if stemmer else word}"


_STEMMERS = {name: Stemmer.Stemmer(name) for name in Stemmer.algorithms()}


def _request(using: str, query: Any, *, limit: int = DEPTH, with_vectors: bool = False) -> models.QueryRequest:
    return models.QueryRequest(
        query=query, using=using, limit=limit, with_payload=not with_vectors, with_vector=with_vectors
    )
