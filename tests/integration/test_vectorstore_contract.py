"""What every vector store promises; a new one is one line in `STORES`."""

from __future__ import annotations

import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from qdrant_servers import Server
from vectors import EVERYWHERE, ROOT, SCOPES, Corpus, chunk_id, points, unit_vectors

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.notes import Verdict
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.storage.vectors import VectorPoint, VectorScope
from directory_indexer.storage.vectors.connection import CollectionPlan, QdrantAddress, QdrantConnection
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations
from directory_indexer.storage.vectors.server import ServerVectorStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from directory_indexer.storage.vectors import VectorStore

DIMENSIONS = 32
QUERIES = range(1000, 1003)
ROUNDING = 4e-3
"""So far off numbers of eight bits may be in so few dimensions."""


def _embedded(tmp_path_factory: pytest.TempPathFactory, _: Server) -> VectorStore:
    return EmbeddedVectorStore(Generations(tmp_path_factory.mktemp("vectors") / "chunks"), dimensions=DIMENSIONS)


def _over_rest(_: pytest.TempPathFactory, server: Server) -> VectorStore:
    return _on(QdrantAddress(server.url))


def _over_grpc(_: pytest.TempPathFactory, server: Server) -> VectorStore:
    return _on(QdrantAddress(server.url, grpc_port=server.grpc_port))


def _on(address: QdrantAddress) -> VectorStore:
    """Make one of the many indexes that share a collection."""
    index_id = str(uuid.uuid4())
    return ServerVectorStore(
        QdrantConnection(address), CollectionPlan("chunks"), index_id=index_id, dimensions=DIMENSIONS
    )


STORES: dict[str, Callable[[pytest.TempPathFactory, Server], VectorStore]] = {
    "embedded": _embedded,
    "server over REST": _over_rest,
    "server over gRPC": _over_grpc,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("--grpc") as server:
        yield server


@pytest.fixture(
    scope="module",
    params=[pytest.param(make, marks=pytest.mark.slow if make is _over_grpc else ()) for make in STORES.values()],
    ids=list(STORES),
)
def open_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, server: Server
) -> Iterator[Callable[[], VectorStore]]:
    stores: list[VectorStore] = []

    def open_store() -> VectorStore:
        stores.append(request.param(tmp_path_factory, server))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], VectorStore]) -> VectorStore:
    return open_store()


@pytest.fixture
def other(open_store: Callable[[], VectorStore]) -> VectorStore:
    return open_store()


@pytest.fixture(scope="module")
def few(open_store: Callable[[], VectorStore]) -> tuple[VectorStore, int]:
    store = open_store()
    return store, _merge(store, range(300))


def _merge(store: VectorStore, numbers: range, *, onto: int = 0, deletes: range = range(0)) -> int:
    upserts = points(numbers, dimensions=DIMENSIONS)
    store.prepare(onto)
    return store.merge(onto, deletes=[chunk_id(number) for number in deletes], upserts=upserts)


def _query(number: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    vector: np.ndarray[tuple[int], np.dtype[np.float32]] = unit_vectors([number], dimensions=DIMENSIONS)[0]
    return vector


def _search(store: VectorStore, generation: int, number: int = 0) -> list[ChunkId]:
    hits = store.open_generation(generation).search(_query(number), scope=EVERYWHERE, limit=5)
    return [hit.chunk_id for hit in hits]


def _matrix(
    store: VectorStore, generation: int, ids: list[ChunkId]
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    vectors = store.open_generation(generation).vectors(ids)
    return np.array([vectors[one] for one in ids])


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_a_search_finds_what_comparing_with_every_vector_in_scope_finds(
    few: tuple[VectorStore, int], scope: VectorScope
) -> None:
    store, generation = few
    corpus = Corpus(points(range(300), dimensions=DIMENSIONS))
    for number in QUERIES:
        exact = corpus.scores(_query(number), scope=scope)
        found = [
            hit.chunk_id for hit in store.open_generation(generation).search(_query(number), scope=scope, limit=20)
        ]
        assert len(set(found)) == len(found)
        # Rounded vectors may swap what is equally near, the more so the fewer dimensions they have.
        assert [exact[one] for one in found] == pytest.approx(list(exact.values())[:20], abs=ROUNDING)


def test_over_grpc_all_works_as_over_rest(tmp_path_factory: pytest.TempPathFactory, server: Server) -> None:
    """Everything here is tried over gRPC by night."""
    store = _over_grpc(tmp_path_factory, server)
    generation = _merge(store, range(20, 60), onto=_merge(store, range(40)), deletes=range(10))
    assert sorted(store.open_generation(generation).ids()) == [chunk_id(number) for number in range(10, 60)]
    assert store.open_generation(generation).count() == 50
    assert _search(store, generation, 30)[0] == chunk_id(30)
    assert store.open_generation(generation).cosines(_query(30), [chunk_id(30)])[chunk_id(30)] == pytest.approx(
        1, abs=ROUNDING
    )
    assert store.open_generation(generation).vectors([chunk_id(30)])[chunk_id(30)] == pytest.approx(
        _query(30), abs=ROUNDING
    )
    assert store.health().verdict is Verdict.OK
    store.close()


def test_names_that_are_no_unicode_can_be_a_scope(store: VectorStore) -> None:
    odd = file_path(os.fsdecode(b"/home/caf\xe9"))
    [point] = points([1], dimensions=DIMENSIONS)
    upserts = [VectorPoint(point.chunk_id, FilePath(f"{odd}/a.md"), (odd,), point.vector)]
    generation = store.merge(_merge(store, range(2, 20)), deletes=(), upserts=upserts)
    hits = store.open_generation(generation).search(_query(5), scope=VectorScope(directories=(odd,)), limit=5)
    assert [hit.chunk_id for hit in hits] == [point.chunk_id]


def test_the_empty_generation_answers_everything_with_nothing(store: VectorStore) -> None:
    assert store.open_generation(0).search(_query(0), scope=EVERYWHERE, limit=5) == []
    assert store.open_generation(0).cosines(_query(0), [chunk_id(0)]) == {}
    assert store.open_generation(0).vectors([chunk_id(1)]) == {}
    assert list(store.open_generation(0).ids()) == []
    assert store.open_generation(0).count() == 0


def test_merging_gives_what_building_anew_gives(store: VectorStore, other: VectorStore) -> None:
    onto = _merge(store, range(300))
    merged = _merge(store, range(250, 400), onto=onto, deletes=range(100))
    fresh = _merge(other, range(100, 400))
    ids = list(store.open_generation(merged).ids())
    assert (
        sorted(ids)
        == sorted(other.open_generation(fresh).ids())
        == sorted(chunk_id(number) for number in range(100, 400))
    )
    assert store.open_generation(merged).count() == 300
    np.testing.assert_allclose(_matrix(store, merged, ids), _matrix(other, fresh, ids), atol=1e-6)
    for number in QUERIES:
        assert _search(store, merged, number) == _search(other, fresh, number)


def test_merging_twice_is_merging_once(store: VectorStore) -> None:
    once = _merge(store, range(50))
    ids = [chunk_id(number) for number in range(50)]
    before = _matrix(store, once, ids)
    twice = _merge(store, range(50), onto=once)
    assert sorted(store.open_generation(twice).ids()) == ids
    np.testing.assert_allclose(_matrix(store, twice, ids), before, atol=1e-6)


def test_an_upsert_replaces_vector_and_place(store: VectorStore) -> None:
    first, second = points([1, 2], dimensions=DIMENSIONS)
    moved = VectorPoint(first.chunk_id, FilePath("/elsewhere/x"), (FilePath("/elsewhere"),), second.vector)
    generation = store.merge(_merge(store, range(1, 2)), deletes=(), upserts=[moved])
    assert store.open_generation(generation).search(_query(2), scope=VectorScope((FilePath(ROOT),)), limit=5) == []
    [hit] = store.open_generation(generation).search(_query(2), scope=VectorScope((FilePath("/elsewhere"),)), limit=5)
    assert hit.chunk_id == first.chunk_id
    assert hit.score == pytest.approx(1, abs=1e-3)


def test_what_is_deleted_and_upserted_at_once_is_there(store: VectorStore) -> None:
    generation = _merge(store, range(5, 10), onto=_merge(store, range(10)), deletes=range(10))
    assert sorted(store.open_generation(generation).ids()) == [chunk_id(number) for number in range(5, 10)]


def test_deleting_what_is_not_there_is_harmless(store: VectorStore) -> None:
    generation = _merge(store, range(0), onto=_merge(store, range(3)), deletes=range(100, 110))
    assert store.open_generation(generation).count() == 3


def test_a_vector_that_is_stored_again_and_again_does_not_drift(store: VectorStore) -> None:
    generation = _merge(store, range(200))
    ids = [chunk_id(number) for number in range(200)]
    before = _matrix(store, generation, ids)
    for _ in range(3):
        again = [
            VectorPoint(point.chunk_id, point.file_path, point.parent_directories, vector.tobytes())
            for point, vector in zip(points(range(200), dimensions=DIMENSIONS), before, strict=True)
        ]
        generation = store.merge(generation, deletes=(), upserts=again)
        np.testing.assert_allclose(_matrix(store, generation, ids), before, atol=3e-4)


def test_more_than_a_batch_is_merged_listed_and_read(store: VectorStore) -> None:
    generation = _merge(store, range(2500))
    generation = _merge(store, range(2500, 2600), onto=generation, deletes=range(1200))
    ids = list(store.open_generation(generation).ids())
    assert sorted(ids) == [chunk_id(number) for number in range(1200, 2600)]
    assert len(store.open_generation(generation).vectors(ids)) == store.open_generation(generation).count() == 1400


def test_a_closed_store_opens_again(store: VectorStore) -> None:
    generation = _merge(store, range(10))
    assert store.open_generation(generation).count() == 10
    store.close()
    store.close()
    assert store.open_generation(generation).count() == 10


def test_hits_come_best_first_with_their_cosines(few: tuple[VectorStore, int]) -> None:
    store, generation = few
    exact = Corpus(points(range(300), dimensions=DIMENSIONS)).scores(_query(1000), scope=EVERYWHERE)
    hits = store.open_generation(generation).search(_query(1000), scope=EVERYWHERE, limit=400)
    assert len(hits) == 300
    assert [hit.score for hit in hits] == pytest.approx([exact[hit.chunk_id] for hit in hits], abs=ROUNDING)
    assert hits == sorted(hits, key=lambda hit: -hit.score)


def test_vectors_come_back_as_they_were_given(few: tuple[VectorStore, int]) -> None:
    store, generation = few
    wanted = {point.chunk_id: np.frombuffer(point.vector, np.float32) for point in points(range(9), dimensions=32)}
    vectors = store.open_generation(generation).vectors([*wanted, chunk_id(99_999)])
    assert vectors.keys() == wanted.keys()
    for key, vector in vectors.items():
        assert vector.dtype == np.float32
        assert vector == pytest.approx(wanted[key], abs=ROUNDING)


def test_cosines_are_those_of_the_vectors_asked_for_and_of_no_others(few: tuple[VectorStore, int]) -> None:
    store, generation = few
    corpus = Corpus(points(range(300), dimensions=DIMENSIONS))
    wanted = [chunk_id(number) for number in (3, 299, 41, 170)]
    cosines = store.open_generation(generation).cosines(_query(1000), [*wanted, chunk_id(4711)])
    exact = corpus.scores(_query(1000), scope=EVERYWHERE)
    assert cosines == {one: pytest.approx(exact[one], abs=ROUNDING) for one in wanted}


@pytest.mark.slow
def test_threads_search_at_the_same_time(few: tuple[VectorStore, int]) -> None:
    store, generation = few
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda number: _search(store, generation, number)[0], range(40)))
    assert found == [chunk_id(number) for number in range(40)]


def test_starting_over_keeps_nothing(store: VectorStore) -> None:
    _merge(store, range(10))
    generation = _merge(store, range(20, 25))
    assert sorted(store.open_generation(generation).ids()) == [chunk_id(number) for number in range(20, 25)]


@pytest.mark.slow
def test_stores_side_by_side_do_not_see_each_other(store: VectorStore, other: VectorStore) -> None:
    generation = _merge(store, range(10))
    elsewhere = _merge(other, range(5, 30))
    generation = _merge(store, range(0), onto=generation, deletes=range(5, 30))
    other.discard_others(elsewhere)
    assert sorted(store.open_generation(generation).ids()) == [chunk_id(number) for number in range(5)]
    assert sorted(other.open_generation(elsewhere).ids()) == [chunk_id(number) for number in range(5, 30)]
    assert other.open_generation(elsewhere).count() == 25
    assert _search(other, elsewhere, 7)[0] == chunk_id(7)
    assert store.open_generation(generation).vectors([chunk_id(7)]) == {}


def test_a_merge_can_be_made_again(store: VectorStore) -> None:
    base = _merge(store, range(10))
    _merge(store, range(10, 20), onto=base, deletes=range(5))
    again = _merge(store, range(10, 20), onto=base, deletes=range(5))
    assert sorted(store.open_generation(again).ids()) == [chunk_id(number) for number in range(5, 20)]


def test_a_healthy_store_says_so(store: VectorStore) -> None:
    _merge(store, range(3))
    assert store.health().verdict is Verdict.OK
