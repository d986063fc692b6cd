"""Searches from the command line: a cold process each time, on a large index."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from benchmarks.corpus import CHUNKS_PER_FILE, make_index, make_tree, vocabulary
from benchmarks.measure import DIRINDEX, PYTHON, Options, Row, costs, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def search(options: Options) -> Iterator[Row]:
    """Measure searches by words and by words and meaning."""
    data_dir, n_chunks = large_index(options)
    query = queries(1)[0]
    command = (DIRINDEX, "search", query, "--quiet", "--limit", "10", "--data-dir", str(data_dir), "--mode")
    commands = {
        "python -c pass": (PYTHON, "-c", "pass"),
        "keyword": (*command, "keyword"),
        "hybrid": (*command, "hybrid"),
    }
    taken = costs(commands, rounds=options.rounds)
    for mode in ("keyword", "hybrid"):
        what = f"search --mode {mode}, {n_chunks:,} chunks"
        yield from rows_of(what, taken[mode], taken["python -c pass"], of="python -c pass")


def large_index(options: Options) -> tuple[Path, int]:
    """Make the index that searches are measured on, unless it is there; tell how many chunks it has."""
    name = f"large-{options.n_chunks}"
    tree, data_dir = options.place / f"{name}-tree", options.place / f"{name}-index"
    make_tree(tree, n_files=-(-options.n_chunks // CHUNKS_PER_FILE), n_chunks_each=CHUNKS_PER_FILE)
    app = make_index(data_dir, tree)
    n_chunks = app.summary().n_chunks
    app.close()
    return data_dir, n_chunks


def queries(number: int) -> list[str]:
    """Ask for words that are neither the most common nor the rarest."""
    chance = random.Random(11)
    words = vocabulary(random.Random(7))[50:5000]
    return [" ".join(chance.choices(words, k=4)) for _ in range(number)]
