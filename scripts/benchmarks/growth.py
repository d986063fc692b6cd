"""How cost grows from a thousand files to a hundred thousand, and from ten thousand chunks to a million."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.corpus import corpus_of
from benchmarks.measure import Options, Row, costs, percentile, times
from benchmarks.search import queries, search_costs
from benchmarks.serving import Server
from benchmarks.update import index_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.corpus import Corpus

_N_CALLS = 100


def growth(options: Options) -> Iterator[Row]:
    """Measure indexes of a tenth, the whole and ten times the size of the large one, ten chunks a file."""
    for n_chunks in (options.n_chunks // 10, options.n_chunks, options.n_chunks_large):
        corpus = corpus_of(n_chunks, options.place)
        yield from _by_files(corpus, options.rounds)
        yield from _by_chunks(corpus, options.rounds)


def _by_files(corpus: Corpus, rounds: int) -> Iterator[Row]:
    nothing = costs({"index": index_command(corpus.tree, corpus.data_dir)}, rounds=rounds)["index"]
    yield Row("searchable by words, files", "s of processor", corpus.words.cpu / 1000, size=corpus.n_files)
    yield Row("index, nothing to do, files", "ms of processor", nothing.cpu, size=corpus.n_files)


def _by_chunks(corpus: Corpus, rounds: int) -> Iterator[Row]:
    size = corpus.n_chunks
    taken = search_costs(corpus.data_dir, rounds=rounds)
    for mode in ("keyword", "hybrid"):
        yield Row(f"search --mode {mode}, chunks", "ms of processor", taken[mode].cpu, size=size)
    with Server(corpus.data_dir) as server:
        server.until_ready()
        yield Row("serve at rest, chunks", "MB", server.memory()["VmRSS"], size=size)
        calls = times(lambda query: server.call("search", query=query), queries(_N_CALLS))
        yield Row("search in serve, median, chunks", "ms of the clock", percentile(calls, 50), size=size)
        yield Row("search in serve, 95 of 100, chunks", "ms of the clock", percentile(calls, 95), size=size)
    index, text = _n_bytes(corpus.data_dir), sum(path.stat().st_size for path in corpus.tree.rglob("*.txt"))
    yield Row("index on disk, chunks", "MB", index / 1e6, text / 1e6, "text", size=size)


def _n_bytes(directory: Path) -> int:
    """Count the bytes on disk: some files of the vector store have holes."""
    return sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())
