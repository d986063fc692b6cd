"""Growth of cost from a thousand files to a hundred thousand, and from ten thousand chunks to a million."""

from __future__ import annotations

from dataclasses import replace
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
        for row in _costs(corpus, options.rounds):
            yield replace(row, size=corpus.n_chunks)


def _costs(corpus: Corpus, rounds: int) -> Iterator[Row]:
    yield Row("keyword index", "s of processor", corpus.words.cpu / 1000)
    nothing = costs({"index": index_command(corpus.tree, corpus.data_dir)}, rounds=rounds)["index"]
    yield Row("index, nothing to do", "ms of processor", nothing.cpu)
    searches = search_costs(corpus.data_dir, rounds=rounds)
    for mode in ("keyword", "hybrid"):
        yield Row(f"search --mode {mode}", "ms of processor", searches[mode].cpu)
    with Server(corpus.data_dir) as server:
        server.until_ready()
        yield Row("serve at rest", "MB", server.memory()["VmRSS"])
        # The first ones wait for the disk, which is not what grows.
        query_texts = queries(2 * _N_CALLS)
        calls = times(lambda query: server.call("search", query=query), query_texts)[_N_CALLS:]
        yield Row("search in serve, median", "ms of the clock", percentile(calls, 50))
        yield Row("search in serve, 95 of 100", "ms of the clock", percentile(calls, 95))
    n_text_bytes = sum(path.stat().st_size for path in corpus.tree.rglob("*.txt"))
    yield Row("index on disk", "MB", _n_bytes(corpus.data_dir) / 1e6, n_text_bytes / 1e6, "text")


def _n_bytes(directory: Path) -> int:
    """Count the bytes on disk: some files of the vector store have holes."""
    return sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())
