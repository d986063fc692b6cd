"""Searches from the command line: a cold process each time, on a large index."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from benchmarks.corpus import corpus_of, vocabulary
from benchmarks.measure import DIRINDEX, PYTHON, Cost, Options, Row, costs, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def search(options: Options) -> Iterator[Row]:
    """Measure searches by words and by words and meaning."""
    corpus = corpus_of(options.n_chunks, options.place)
    taken = search_costs(corpus.data_dir, rounds=options.rounds)
    for mode in ("keyword", "hybrid"):
        what = f"search --mode {mode}, {corpus.n_chunks:,} chunks"
        yield from rows_of(what, taken[mode], taken["python -c pass"], of="python -c pass")


def search_costs(data_dir: Path, *, rounds: int) -> dict[str, Cost]:
    """Measure each mode, and `python -c pass` beside them."""
    query = queries(1)[0]
    command = (DIRINDEX, "search", query, "--quiet", "--limit", "10", "--data-dir", str(data_dir), "--mode")
    commands = {
        "python -c pass": (PYTHON, "-c", "pass"),
        "keyword": (*command, "keyword"),
        "hybrid": (*command, "hybrid"),
    }
    return costs(commands, rounds=rounds)


def queries(number: int) -> list[str]:
    """Ask for words that are neither the most common nor the rarest."""
    chance = random.Random(11)
    words = vocabulary(random.Random(7))[50:5000]
    return [" ".join(chance.choices(words, k=4)) for _ in range(number)]
