"""Capacity of one machine: what a search by words and by both costs with a million chunks and more."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import PYTHON, Options, Row, cost_of, percentile, times
from benchmarks.search import queries
from benchmarks.serving import Server

from directory_indexer.app import App
from directory_indexer.config import load_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SIZES = (1, 3, 10)
"""As multiples of `--chunks-large`."""

_N_CALLS = 200
_AS_IT_IS = {"DIRINDEX_SEARCHING__REFRESH_MS": "0", "DIRINDEX_MONITORING__BACKGROUND_EMBEDDING": "false"}
"""A server for a team watches, so it does not look for changes before it answers; nothing is embedded meanwhile."""


def scale(options: Options) -> Iterator[Row]:
    """Measure indexes of once, three times and ten times the size of the large one, each grown from the one before."""
    before = None
    for factor in _SIZES:
        before = data_dir = _grown(before, factor * options.n_chunks_large, options.place)
        with closing(App(load_config(file=None, data_dir=data_dir, environ={}))) as app:
            n_chunks = app.status.summary().n_chunks
        for row in _rows(data_dir):
            yield replace(row, size=n_chunks)


def _grown(before: Path | None, n_chunks: int, place: Path) -> Path:
    """Fill the index of a size unless it is there; one that was left unfinished grows on."""
    data_dir, done = place / f"scale-{n_chunks}-index", place / f"scale-{n_chunks}-done"
    if not done.exists():
        if before and not data_dir.exists():
            unfinished = data_dir.with_suffix(".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(before, unfinished)
            unfinished.rename(data_dir)
        cost_of((PYTHON, str(Path(__file__).with_name("filling.py")), str(data_dir), str(n_chunks)))
        done.touch()
    return data_dir


def _rows(data_dir: Path) -> Iterator[Row]:
    yield Row("texts and words on disk", "MB", _n_megabytes(data_dir, "data.db*"))
    yield from _searches(data_dir, "keyword")
    yield Row("all on disk", "MB", _n_megabytes(data_dir, "**/*"))
    yield from _searches(data_dir, "hybrid")


def _searches(data_dir: Path, mode: str) -> Iterator[Row]:
    """Search before measuring: the first searches wait for the disk."""
    before, query_texts = queries(2 * _N_CALLS)[_N_CALLS:], queries(_N_CALLS)
    off = {} if mode == "hybrid" else {"DIRINDEX_INDEXING__EMBEDDING": "off"}
    with Server(data_dir, environment=_AS_IT_IS | off) as server:
        server.shake_hands()
        yield Row(f"serve, {mode}, first search", "ms of the clock", *_taken(server, mode, before[:1]))
        _taken(server, mode, before)
        started = server.spent()
        taken = _taken(server, mode, query_texts)
        spent = server.spent() - started
        for name, percent in (("median", 50), ("95 of 100", 95)):
            yield Row(f"serve, {mode}, {name}", "ms of the clock", percentile(taken, percent))
        yield Row(f"serve, {mode}, a search", "ms of processor", spent.cpu / _N_CALLS)
        yield Row(f"serve, {mode}, memory", "MB", server.memory()["VmRSS"])
        yield Row(f"serve, {mode}, not shared with files", "MB", server.memory()["RssAnon"])


def _taken(server: Server, mode: str, query_texts: Sequence[str]) -> list[float]:
    return times(lambda query: server.call("search", query=query, mode=mode), query_texts)


def _n_megabytes(directory: Path, pattern: str) -> float:
    return sum(path.stat().st_blocks * 512 for path in directory.glob(pattern) if path.is_file()) / 1e6
