"""Exactness that speed costs: the nearest vectors that are found, and how near vectors are to those of the model."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.corpus import EmbedderOfChance
from benchmarks.measure import Options, Row

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import FilePath
from directory_indexer.embedding.embedded import EmbeddedEmbedder
from directory_indexer.embedding.model_files import DIMENSIONS
from directory_indexer.storage.vectors import VectorPoint, VectorScope
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from directory_indexer.storage.vectors import VectorHit

_LIMIT = 10
_N_QUERIES = 200
_DATA = Path(__file__).parent.parent.parent / "tests/data"


def recall(options: Options) -> Iterator[Row]:
    """Measure the embedded vector store on vectors of chance, and the embedded model on texts of several kinds."""
    yield from _store(options.n_chunks, options.place)
    yield _model()


def _store(n_chunks: int, place: Path) -> Iterator[Row]:
    vectors = EmbedderOfChance().embed_documents([""] * (n_chunks + _N_QUERIES))
    vectors, query_vectors = vectors[:n_chunks], vectors[n_chunks:]
    with tempfile.TemporaryDirectory(dir=place) as directory:
        store = EmbeddedVectorStore(Generations(Path(directory)), dimensions=DIMENSIONS)
        generation = store.merge(0, deletes=(), upserts=_points(vectors))
        for where, directories, inside in (
            ("everywhere", (), slice(None)),
            ("in a tenth", (_directories(0)[1],), slice(None, None, 10)),
            ("in a hundredth", (_directories(0)[2],), slice(None, None, 100)),
        ):
            numbers, scope = np.arange(n_chunks)[inside], VectorScope(directories=directories)
            exact = [numbers[np.argsort(-(vectors[inside] @ query))[:_LIMIT]] for query in query_vectors]
            hits_per_query = [store.at(generation).search(query, scope=scope, limit=_LIMIT) for query in query_vectors]
            share = np.mean([_share(*pair) for pair in zip(hits_per_query, exact, strict=True)])
            what = f"recall@{_LIMIT}, {n_chunks:,} vectors, {where}"
            yield Row(what, "% of the nearest", 100 * float(share), 100, "exact search in float32")
        store.close()


def _share(hits: Sequence[VectorHit], exact: NDArray[np.int64]) -> float:
    return len({hit.chunk_id for hit in hits} & set(map(_id, exact))) / len(exact)


def _points(vectors: NDArray[np.float32]) -> Iterator[VectorPoint]:
    for number, vector in enumerate(vectors):
        directories = _directories(number)
        yield VectorPoint(_id(number), FilePath(f"{directories[-1]}/{number}"), directories, vector.tobytes())


def _directories(number: int) -> tuple[FilePath, FilePath, FilePath]:
    """Return the root, a directory with a tenth of all numbers, and in it one with a hundredth."""
    return FilePath("/tree"), FilePath(f"/tree/{number % 10}"), FilePath(f"/tree/{number % 10}/{number % 100}")


def _id(number: int) -> ChunkId:
    return ChunkId((int(number) << 64 | 8 << 60).to_bytes(16))


def _model() -> Row:
    texts, reference = (
        json.loads((_DATA / f"golden_{name}.json").read_text(encoding="utf-8")) for name in ("texts", "vectors")
    )
    ours = EmbeddedEmbedder(threads=1).embed_documents(texts)
    cosines = (ours * np.array(reference)).sum(axis=1) / np.linalg.norm(reference, axis=1)
    return Row(f"mean cosine with the model in float32, {len(texts)} texts", "%", 100 * float(cosines.mean()))
