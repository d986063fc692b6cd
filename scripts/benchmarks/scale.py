"""How large an index one machine carries: what a search by words and by both costs with a million chunks and more."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.corpus import CHUNKS_PER_FILE, make_index, make_tree, only_words
from benchmarks.measure import Cost, Options, Row, cost_of, percentile, times
from benchmarks.search import queries
from benchmarks.serving import Server

from directory_indexer.app import App
from directory_indexer.config import load_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SIZES_BY_WORDS = (1, 3, 10)
_SIZES_BY_BOTH = (1, 3)
"""As multiples of `--chunks-large`. The graphs of ten million vectors take an hour of processor time to make."""
_N_CALLS = 200
_AS_IT_IS = {"DIRINDEX_SEARCHING__REFRESH_MS": "0", "DIRINDEX_MONITORING__BACKGROUND_EMBEDDING": "false"}
"""A server for a team watches, so it does not look for changes before it answers; nothing is embedded meanwhile."""


def scale(options: Options) -> Iterator[Row]:
    """Measure indexes of once, three times and ten times the size of the large one, each grown from the one before."""
    before = None
    for factor in _SIZES_BY_WORDS:
        stage = before = _grown(before, factor * options.n_chunks_large, options.place)
        for row in _by_words(stage):
            yield replace(row, size=stage.n_chunks)
        if factor in _SIZES_BY_BOTH:
            for row in _by_both(stage):
                yield replace(row, size=stage.n_chunks)


@dataclass(frozen=True)
class _Stage:
    """An index by words, the tree that it has beside those of the stage before, and what that took."""

    trees: tuple[Path, ...]
    data_dir: Path
    n_chunks: int
    n_chunks_asked: int
    added: int
    words: Cost


def _grown(before: _Stage | None, n_chunks: int, place: Path) -> _Stage:
    tree, data_dir, taken = (place / f"scale-{n_chunks}-{what}" for what in ("tree", "index", "words.json"))
    n_files = -(-(n_chunks - (before.n_chunks_asked if before else 0)) // CHUNKS_PER_FILE)
    make_tree(tree, n_files=n_files, n_chunks_each=CHUNKS_PER_FILE, seed=n_chunks)
    if not taken.exists():
        shutil.rmtree(data_dir, ignore_errors=True)
        if before:
            shutil.copytree(before.data_dir, data_dir)
        taken.write_text(json.dumps(asdict(cost_of(only_words(data_dir, [tree])))), encoding="utf-8")
    with closing(App(load_config(file=None, data_dir=data_dir, environ={}))) as app:
        n_in_index = app.status.summary().n_chunks
    return _Stage(
        trees=(*(before.trees if before else ()), tree),
        data_dir=data_dir,
        n_chunks=n_in_index,
        n_chunks_asked=n_chunks,
        added=n_in_index - (before.n_chunks if before else 0),
        words=Cost(**json.loads(taken.read_text("utf-8"))),
    )


def _by_words(stage: _Stage) -> Iterator[Row]:
    yield Row("searchable by words, a million more", "s of processor", stage.words.cpu / 1000 / stage.added * 1e6)
    yield Row("words on disk", "MB", _n_megabytes(stage.data_dir, "data.db*"))
    yield from _searches(stage.data_dir, "keyword")


def _by_both(stage: _Stage) -> Iterator[Row]:
    """Take a copy, for the index by words is what the next one grows from."""
    data_dir = stage.data_dir.with_name(f"{stage.data_dir.name}-both")
    if not data_dir.exists():
        shutil.copytree(stage.data_dir, data_dir)
    for tree in stage.trees:
        make_index(data_dir, tree).close()
    yield Row("words and vectors on disk", "MB", _n_megabytes(data_dir, "**/*"))
    yield from _searches(data_dir, "hybrid")


def _searches(data_dir: Path, mode: str) -> Iterator[Row]:
    """Search before measuring: the first searches wait for the disk."""
    before, asked = queries(2 * _N_CALLS)[_N_CALLS:], queries(_N_CALLS)
    off = {} if mode == "hybrid" else {"DIRINDEX_INDEXING__EMBEDDING": "off"}
    with Server(data_dir, environment=_AS_IT_IS | off) as server:
        server.shake_hands()
        yield Row(f"serve, {mode}, first search", "ms of the clock", *_taken(server, mode, before[:1]))
        _taken(server, mode, before)
        started = server.spent()
        taken = _taken(server, mode, asked)
        spent = server.spent() - started
        for name, percent in (("median", 50), ("95 of 100", 95)):
            yield Row(f"serve, {mode}, {name}", "ms of the clock", percentile(taken, percent))
        yield Row(f"serve, {mode}, a search", "ms of processor", spent.cpu / _N_CALLS)
        yield Row(f"serve, {mode}, memory", "MB", server.memory()["VmRSS"])
        yield Row(f"serve, {mode}, not shared with files", "MB", server.memory()["RssAnon"])


def _taken(server: Server, mode: str, asked: Sequence[str]) -> list[float]:
    return times(lambda query: server.call("search", query=query, mode=mode), asked)


def _n_megabytes(directory: Path, pattern: str) -> float:
    return sum(path.stat().st_blocks * 512 for path in directory.glob(pattern) if path.is_file()) / 1e6
