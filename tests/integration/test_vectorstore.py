from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
import qdrant_edge as edge
from vectors import EVERYWHERE, SCOPES, Corpus, chunk_id, points, unit_vectors

from directory_indexer.core.errors import GenerationGoneError, StoreError, VectorsLostError
from directory_indexer.core.ids import ChunkId, uuid_text
from directory_indexer.core.lock import try_lock
from directory_indexer.storage.vectors import VectorPoint, VectorScope, engine
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import GenerationFiles, Generations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DIMENSIONS = 32


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Callable[[], EmbeddedVectorStore]]:
    stores: list[EmbeddedVectorStore] = []

    def open_store() -> EmbeddedVectorStore:
        stores.append(EmbeddedVectorStore(Generations(tmp_path / "qdrant" / "chunks"), dimensions=DIMENSIONS))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], EmbeddedVectorStore]) -> EmbeddedVectorStore:
    return open_store()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "qdrant" / "chunks"


class Quantized(NamedTuple):
    """A store with so many vectors that the engine packs most of them, and others that came later."""

    store: EmbeddedVectorStore
    generation: int
    corpus: Corpus
    directory: Path


QUANTIZED_DIMENSIONS = 1024


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quantized]:
    path = tmp_path_factory.mktemp("quantized")
    store = EmbeddedVectorStore(Generations(path / "chunks"), dimensions=QUANTIZED_DIMENSIONS)
    stored = points(range(3_600), dimensions=QUANTIZED_DIMENSIONS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EmbeddedVectorStore, "graph_from_kb", 2_000)
        generation = store.merge(0, deletes=(), upserts=stored[:3_300])
        gone = [chunk_id(number) for number in range(200)]
        generation = store.merge(generation, deletes=gone, upserts=stored[3_300:])
    directory = path / "chunks" / f"generation-{generation}"
    assert list(directory.rglob("tq_vectors.dat")), "the engine did not pack so few vectors"
    assert list(directory.rglob("links_compressed.bin")), "the engine made no graph of so few vectors"
    yield Quantized(store, generation, Corpus(stored[200:]), directory)
    store.close()


def _merge(store: EmbeddedVectorStore, numbers: range, *, onto: int = 0, deletes: range = range(0)) -> int:
    upserts = points(numbers, dimensions=DIMENSIONS)
    return store.merge(onto, deletes=[chunk_id(number) for number in deletes], upserts=upserts)


def _query(number: int, *, dimensions: int = DIMENSIONS) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    vector: np.ndarray[tuple[int], np.dtype[np.float32]] = unit_vectors([number], dimensions=dimensions)[0]
    return vector


def _search(store: EmbeddedVectorStore, generation: int, number: int = 0) -> list[ChunkId]:
    hits = store.open_generation(generation).search(_query(number), scope=EVERYWHERE, limit=5)
    return [hit.chunk_id for hit in hits]


def _hashes(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file()
    }


# Finding


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_codes_instead_of_vectors_lose_less_than_two_in_a_hundred_hits(
    quantized: Quantized, scope: VectorScope
) -> None:
    n_expected = n_found = 0
    for number in range(20_000, 20_030):
        query = _query(number, dimensions=QUANTIZED_DIMENSIONS)
        hits = quantized.store.open_generation(quantized.generation).search(query, scope=scope, limit=10)
        expected = list(quantized.corpus.scores(query, scope=scope))[:10]
        assert len(hits) == len(expected)
        n_expected += len(expected)
        n_found += len({hit.chunk_id for hit in hits} & set(expected))
    assert n_found >= 0.98 * n_expected


def test_scores_are_cosines(quantized: Quantized) -> None:
    query = _query(20_000, dimensions=QUANTIZED_DIMENSIONS)
    exact = quantized.corpus.scores(query, scope=EVERYWHERE)
    hits = quantized.store.open_generation(quantized.generation).search(query, scope=EVERYWHERE, limit=50)
    assert [hit.score for hit in hits] == pytest.approx([exact[hit.chunk_id] for hit in hits], abs=1e-3)
    assert hits == sorted(hits, key=lambda hit: -hit.score)


def test_threads_search_at_the_same_time(quantized: Quantized) -> None:
    def search(number: int) -> bool:
        query = _query(number, dimensions=QUANTIZED_DIMENSIONS)
        hits = quantized.store.open_generation(quantized.generation).search(query, scope=EVERYWHERE, limit=1)
        return [hit.chunk_id for hit in hits] == [chunk_id(number)]

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(search, range(200, 260)))


# Merging


def test_vectors_come_back_to_eight_bits_a_number(quantized: Quantized) -> None:
    wanted = {point.chunk_id: np.frombuffer(point.vector, np.float32) for point in quantized.corpus.points[::100]}
    vectors = quantized.store.open_generation(quantized.generation).vectors([*wanted, chunk_id(99_999)])
    assert vectors.keys() == wanted.keys()
    for key, vector in vectors.items():
        assert vector.dtype == np.float32
        assert vector == pytest.approx(wanted[key], abs=2e-3)


def test_a_vector_that_moves_from_store_to_store_stays_as_it_is(
    open_store: Callable[[], EmbeddedVectorStore], tmp_path: Path
) -> None:
    store = open_store()
    generation = _merge(store, range(50))
    ids = [chunk_id(number) for number in range(50)]
    moved = store.open_generation(generation).vectors(ids)
    other = EmbeddedVectorStore(Generations(tmp_path / "other"), dimensions=DIMENSIONS)
    upserts = [point._replace(vector=moved[point.chunk_id].tobytes()) for point in points(range(50), dimensions=32)]
    assert _bytes(other, other.merge(0, deletes=(), upserts=upserts), ids) == [moved[one].tobytes() for one in ids]
    other.close()


# What older versions wrote


@pytest.fixture
def old_generation(directory: Path) -> int:
    """A generation with vectors in half precision, codes beside them, and whole paths in the payloads."""
    generations = Generations(directory)
    config = edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(
            size=DIMENSIONS, distance=edge.Distance.Cosine, datatype=edge.VectorStorageDatatype.Float16
        ),
        quantization_config=edge.ScalarQuantizationConfig(type=edge.ScalarType.Int8, quantile=0.99),
        wal_enabled=False,
    )
    stored = points(range(200), dimensions=DIMENSIONS)
    with generations.draft(0, linked=frozenset()) as draft:
        shard = edge.EdgeShard.create(str(draft), config)
        for field in ("file_path", "parent_directories"):
            shard.update(edge.UpdateOperation.create_field_index(field, edge.PayloadSchemaType.Keyword))
        shard.update(edge.UpdateOperation.upsert_points([_old_point(point) for point in stored]))
        shard.flush()
        shard.close()
        edge.EdgeShard.load(str(draft)).close()
        return generations.publish(draft, n_vectors=len(stored))


def _old_point(point: VectorPoint) -> edge.Point:
    payload = {"file_path": point.file_path, "parent_directories": list(point.parent_directories)}
    return edge.Point(uuid_text(point.chunk_id), np.frombuffer(point.vector, np.float32).tolist(), payload)


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_an_older_generation_answers_before_and_after_it_is_written_anew(
    store: EmbeddedVectorStore, old_generation: int, scope: VectorScope
) -> None:
    assert _hits(store, old_generation, scope) == _expected(range(200), scope)
    generation = _merge(store, range(200, 230), onto=old_generation, deletes=range(10))
    assert _hits(store, generation, scope) == _expected(range(10, 230), scope)


def test_an_older_generation_stays_whole_when_writing_it_anew_fails(
    store: EmbeddedVectorStore, old_generation: int, directory: Path
) -> None:
    assert store.open_generation(old_generation).count() == 200
    before = _hashes(directory)

    def fail() -> Iterator[VectorPoint]:
        yield from points(range(10), dimensions=DIMENSIONS)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.merge(old_generation, deletes=(), upserts=fail())
    assert _hashes(directory) == before
    assert store.open_generation(_merge(store, range(10), onto=old_generation)).count() == 200


def test_a_generation_stays_as_it_was_made(
    store: EmbeddedVectorStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_GRAPH_EDGES", 0)
        without_graph = _merge(store, range(10))
    for generation in (without_graph, _merge(store, range(10, 20), onto=without_graph)):
        config = json.loads((directory / f"generation-{generation}" / "edge_config.json").read_bytes())
        assert config["hnsw_config"]["m"] == 0


def _hits(store: EmbeddedVectorStore, generation: int, scope: VectorScope) -> set[ChunkId]:
    return {hit.chunk_id for hit in store.open_generation(generation).search(_query(0), scope=scope, limit=500)}


def _expected(numbers: range, scope: VectorScope) -> set[ChunkId]:
    return set(Corpus(points(numbers, dimensions=DIMENSIONS)).scores(_query(0), scope=scope))


# Generations


def test_a_store_keeps_no_generation_that_it_does_not_need(store: EmbeddedVectorStore, directory: Path) -> None:
    old = _merge(store, range(10))
    assert store.open_generation(old).count() == 10
    new = _merge(store, range(10, 20), onto=old)
    assert store.open_generation(old).count() == 10
    store.discard_others(new)
    assert len(list(directory.glob("generation-*/"))) == 1


def test_a_store_reads_nothing_itself_while_it_merges(store: EmbeddedVectorStore, directory: Path) -> None:
    old = _merge(store, range(10))
    assert store.open_generation(old).count() == 10

    def is_read() -> bool:
        lock = try_lock(directory / f"generation-{old}.lock", exclusive=True)
        if lock:
            lock.release()
        return lock is None

    def upserts() -> Iterator[VectorPoint]:
        assert not is_read()
        yield from points(range(10, 20), dimensions=DIMENSIONS)

    assert is_read()
    store.merge(old, deletes=(), upserts=upserts())


def test_a_generation_answers_as_before_while_the_next_is_published(
    open_store: Callable[[], EmbeddedVectorStore],
) -> None:
    reader, writer = open_store(), open_store()
    old = _merge(writer, range(10))
    assert _search(reader, old, 3)[0] == chunk_id(3)
    new = _merge(writer, range(10, 20), onto=old, deletes=range(10))
    writer.discard_others(new)
    assert sorted(reader.open_generation(old).ids()) == [chunk_id(number) for number in range(10)]
    assert _search(reader, old, 3)[0] == chunk_id(3)
    assert sorted(reader.open_generation(new).ids()) == [chunk_id(number) for number in range(10, 20)]


def test_a_generation_is_kept_while_it_is_read_and_discarded_afterwards(
    open_store: Callable[[], EmbeddedVectorStore], directory: Path
) -> None:
    reader, writer = open_store(), open_store()
    old = _merge(writer, range(10))
    reader.open_generation(old).count()
    new = _merge(writer, range(10, 20), onto=old)
    writer.discard_others(new)
    assert (directory / f"generation-{old}").is_dir()
    reader.open_generation(new).count()
    writer.discard_others(new)
    assert {path.name for path in directory.iterdir()} == {f"generation-{new}", f"generation-{new}.lock"}


def test_a_discarded_generation_is_said_to_be_gone(open_store: Callable[[], EmbeddedVectorStore]) -> None:
    writer = open_store()
    old = _merge(writer, range(3))
    new = _merge(writer, range(3), onto=old)
    writer.discard_others(new)
    reader = open_store()
    for ask in (
        lambda: reader.open_generation(old).count(),
        lambda: next(reader.open_generation(old).ids()),
        lambda: reader.open_generation(old).vectors([chunk_id(1)]),
    ):
        with pytest.raises(GenerationGoneError):
            ask()
    with pytest.raises(GenerationGoneError):
        _search(reader, old)
    assert reader.open_generation(new).count() == 3


def test_a_generation_that_never_was_is_gone(store: EmbeddedVectorStore) -> None:
    with pytest.raises(GenerationGoneError):
        store.open_generation(1).count()


def test_starting_over_never_gives_a_number_that_somebody_may_have_open(
    open_store: Callable[[], EmbeddedVectorStore],
) -> None:
    reader, writer = open_store(), open_store()
    old = _merge(writer, range(10))
    assert reader.open_generation(old).count() == 10
    new = _merge(writer, range(3))
    writer.discard_others(new)
    assert reader.open_generation(new).count() == 3


@pytest.mark.slow
def test_a_merge_changes_no_byte_of_its_base(quantized: Quantized) -> None:
    before = _hashes(quantized.directory)
    upserts = points(range(300, 2300), dimensions=QUANTIZED_DIMENSIONS)
    deletes = [chunk_id(number) for number in range(2300, 3400)]
    generation = quantized.store.merge(quantized.generation, deletes=deletes, upserts=upserts)
    assert _hashes(quantized.directory) == before
    again = quantized.store.merge(generation, deletes=deletes, upserts=upserts)
    assert _hashes(quantized.directory) == before
    assert quantized.store.open_generation(again).count() == len(quantized.corpus.points) - len(deletes)
    quantized.store.discard_others(quantized.generation)


def test_opening_and_closing_change_no_byte(quantized: Quantized) -> None:
    before = _hashes(quantized.directory)
    for _ in range(3):
        store = EmbeddedVectorStore(
            Generations(quantized.directory.parents[1] / "chunks"), dimensions=QUANTIZED_DIMENSIONS
        )
        query = _query(300, dimensions=QUANTIZED_DIMENSIONS)
        store.open_generation(quantized.generation).search(query, scope=EVERYWHERE, limit=5)
        store.close()
    assert _hashes(quantized.directory) == before


def test_generations_share_what_did_not_change(quantized: Quantized) -> None:
    generations = Generations(quantized.directory.parent)
    before = generations.size_bytes()
    generation = quantized.store.merge(quantized.generation, deletes=[chunk_id(300)], upserts=())
    assert generations.size_bytes() < 1.75 * before
    assert generation != quantized.generation
    quantized.store.discard_others(quantized.generation)


def test_where_files_cannot_be_linked_they_are_copied(
    open_store: Callable[[], EmbeddedVectorStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    store = open_store()
    generation = _merge(store, range(10, 20), onto=_merge(store, range(10)), deletes=range(5))
    assert sorted(store.open_generation(generation).ids()) == [chunk_id(number) for number in range(5, 20)]
    assert _search(store, generation, 12)[0] == chunk_id(12)


# Accidents


def test_a_failed_merge_leaves_nothing_behind(store: EmbeddedVectorStore, directory: Path) -> None:
    generation = _merge(store, range(10))
    before = {path.name for path in directory.iterdir()}

    def fail() -> Iterator[VectorPoint]:
        yield from points(range(10, 2000), dimensions=DIMENSIONS)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.merge(generation, deletes=[chunk_id(1)], upserts=fail())
    assert {path.name for path in directory.iterdir()} == before
    assert store.open_generation(generation).count() == 10


def test_what_a_crash_left_behind_is_removed(store: EmbeddedVectorStore, directory: Path) -> None:
    published = _merge(store, range(10))
    unpublished = _merge(store, range(20), onto=published)
    shutil.copytree(directory / f"generation-{published}", directory / "draft-crashed")
    (directory / "generation-7.lock").touch()
    assert unpublished != published
    store.discard_others(published)
    store.open_generation(published).count()
    assert {path.name for path in directory.iterdir()} == {f"generation-{published}", f"generation-{published}.lock"}


def test_what_a_killed_reader_left_in_a_generation_is_not_passed_on(
    store: EmbeddedVectorStore, directory: Path
) -> None:
    generation = _merge(store, range(10))
    left = directory / f"generation-{generation}" / ".atomicwriteXyZ" / "tmpfile.tmp"
    left.parent.mkdir()
    left.touch()
    new = _merge(store, range(10, 20), onto=generation)
    assert store.open_generation(generation).count() == 10
    assert store.open_generation(new).count() == 20
    assert not list((directory / f"generation-{new}").glob(".*"))


@pytest.mark.parametrize("name", ["tq_vectors.dat", "values_to_points.bin", "id_tracker.e2i", "version.info"])
@pytest.mark.parametrize("remaining", [None, 0, 0.5], ids=["missing", "empty", "cut short"])
def test_damage_is_an_error_that_says_how_to_mend_it(
    quantized: Quantized, tmp_path: Path, name: str, remaining: float | None
) -> None:
    copy = tmp_path / "chunks" / quantized.directory.name
    shutil.copytree(quantized.directory, copy, copy_function=os.link)
    damaged = next(copy.rglob(name))
    content = damaged.read_bytes()
    damaged.unlink()
    if remaining is not None:
        damaged.write_bytes(content[: int(len(content) * remaining)])
    store = EmbeddedVectorStore(Generations(tmp_path / "chunks"), dimensions=QUANTIZED_DIMENSIONS)
    with pytest.raises(StoreError, match="damaged") as caught:
        store.open_generation(quantized.generation).count()
    assert not isinstance(caught.value, GenerationGoneError)
    assert "dirindex index" in str(caught.value.hint)
    with pytest.raises(StoreError, match="damaged"):
        store.merge(quantized.generation, deletes=(), upserts=())


def test_garbage_in_a_file_is_an_error_that_says_how_to_mend_it(store: EmbeddedVectorStore, directory: Path) -> None:
    generation = _merge(store, range(10))
    config = next((directory / f"generation-{generation}").rglob("segment.json"))
    config.write_bytes(bytes(config.stat().st_size))
    with pytest.raises(StoreError) as caught:
        store.open_generation(generation).count()
    assert "doctor --repair" in str(caught.value.hint)


def test_a_changed_byte_of_any_file_is_found_by_reading_all(store: EmbeddedVectorStore, directory: Path) -> None:
    base = _merge(store, range(10))
    generation = _merge(store, range(10, 20), onto=base)
    store.require_intact(generation)
    paths = (directory / f"generation-{generation}").rglob("*")
    for path in [path for path in paths if path.is_file() and path.stat().st_size]:
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(VectorsLostError, match="damaged"):
            store.require_intact(generation)
        path.write_bytes(content)
    store.require_intact(generation)


def test_a_generation_of_an_earlier_version_without_checksums_is_whole(
    store: EmbeddedVectorStore, directory: Path
) -> None:
    generation = directory / f"generation-{_merge(store, range(10))}"
    (generation / "checksums.json").unlink()
    contents = json.loads((generation / "contents.json").read_bytes())
    del contents["checksums.json"]
    (generation / "contents.json").write_text(json.dumps(contents), encoding="utf-8")
    store.require_intact(1)
    assert store.open_generation(1).count() == 10


def test_a_merge_is_refused_when_the_disk_is_nearly_full(
    store: EmbeddedVectorStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = _merge(store, range(10))
    usage = shutil.disk_usage(directory)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=60_000_000))
        with pytest.raises(StoreError, match="60 MB left"):
            _merge(store, range(20), onto=generation)
    assert store.open_generation(generation).count() == 10


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_nobody_else_can_read_vectors(store: EmbeddedVectorStore, tmp_path: Path) -> None:
    _merge(store, range(20), onto=_merge(store, range(10)))
    for path in (tmp_path / "qdrant", *(tmp_path / "qdrant").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def _bytes(store: EmbeddedVectorStore, generation: int, ids: list[ChunkId]) -> list[bytes]:
    vectors = store.open_generation(generation).vectors(ids)
    return [vectors[one].tobytes() for one in ids]


def test_a_file_that_was_cut_short_is_noticed_whatever_is_asked(tmp_path: Path) -> None:
    files, codes = GenerationFiles(tmp_path), tmp_path / "codes"
    codes.write_bytes(b"x" * 10)
    files.seal(n_vectors=3)
    assert files.n_vectors() == 3
    codes.write_bytes(b"x")
    with pytest.raises(VectorsLostError, match="codes is cut short"):
        files.n_vectors()
