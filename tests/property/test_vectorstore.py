"""Whatever is merged in whatever order, the store holds and finds what a dictionary would."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vectors import Corpus, chunk_id, points, unit_vectors

from directory_indexer.storage.vectors import VectorScope
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations

if TYPE_CHECKING:
    from directory_indexer.core.ids import ChunkId
    from directory_indexer.storage.vectors import VectorPoint

DIMENSIONS = 8
NUMBERS = st.integers(0, 60)
MERGES = st.lists(st.tuples(st.sets(NUMBERS), st.lists(NUMBERS)), min_size=1, max_size=4)
SCOPES = st.builds(
    VectorScope,
    directories=st.lists(
        st.sampled_from(
            sorted({path for point in points(range(61), dimensions=1) for path in point.parent_directories})
        )
    ).map(tuple),
    files=st.lists(st.sampled_from(sorted({point.file_path for point in points(range(61), dimensions=1)}))).map(tuple),
)


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(merges=MERGES, scope=SCOPES, limit=st.integers(1, 70))
def test_a_store_holds_and_finds_what_a_dictionary_would(
    merges: list[tuple[set[int], list[int]]], scope: VectorScope, limit: int
) -> None:
    expected: dict[ChunkId, VectorPoint] = {}
    generation = 0
    with tempfile.TemporaryDirectory() as directory:
        store = EmbeddedVectorStore(Generations(Path(directory) / "chunks"), dimensions=DIMENSIONS)
        for deletes, upserts in merges:
            generation = store.merge(
                generation, deletes=map(chunk_id, deletes), upserts=points(upserts, dimensions=DIMENSIONS)
            )
            store.discard_others(generation)
            for number in deletes:
                expected.pop(chunk_id(number), None)
            expected |= {point.chunk_id: point for point in points(upserts, dimensions=DIMENSIONS)}
        query = unit_vectors([1000], dimensions=DIMENSIONS)[0]
        hits = store.open_generation(generation).search(query, scope=scope, limit=limit)
        exact = Corpus(list(expected.values())).scores(query, scope=scope) if expected else {}
        assert sorted(store.open_generation(generation).ids()) == sorted(expected)
        assert store.open_generation(generation).count() == len(expected)
        assert store.open_generation(generation).vectors(sorted(expected)).keys() == expected.keys()
        assert len({hit.chunk_id for hit in hits}) == len(hits)
        assert [exact[hit.chunk_id] for hit in hits] == pytest.approx(list(exact.values())[:limit], abs=8e-3)
        store.close()
