"""Peak memory of an index run, with the processes that parse for it."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from benchmarks.corpus import CHUNKS_PER_FILE, large_tree, make_tree
from benchmarks.measure import DIRINDEX, PYTHON, Memory, Options, Row, memory_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODEL_SECONDS = 60


def memory(options: Options) -> Iterator[Row]:
    """Measure an index run of the large tree with vectors of chance, and the beginning of a run with the model."""
    interpreter = memory_of((PYTHON, "-c", "import time; time.sleep(0.3)"))
    large = large_tree(options)
    what = f"index run, {large.n_files:,} files, {large.n_chunks:,} chunks"
    yield from _rows(what, large.memory, interpreter)
    tree = options.place / f"large-{options.n_chunks}-tree"
    make_tree(tree, n_files=-(-options.n_chunks // CHUNKS_PER_FILE), n_chunks_each=CHUNKS_PER_FILE)
    n_bytes = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    with tempfile.TemporaryDirectory(dir=options.place) as data_dir:
        limits = ("--max-seconds", str(_MODEL_SECONDS), "--yes", "--quiet")
        with_model = memory_of((DIRINDEX, "index", str(tree), "--data-dir", data_dir, *limits))
    what = f"index run, {n_bytes / 1e6:,.0f} MB, its first {_MODEL_SECONDS} s with the model"
    yield from _rows(what, with_model, interpreter)


def _rows(what: str, held: Memory, interpreter: Memory) -> Iterator[Row]:
    yield Row(what, "MB at most", held.all, interpreter.all, "python -c pass")
    yield Row(f"{what}, not shared with files", "MB at most", held.anonymous, interpreter.anonymous, "python -c pass")
