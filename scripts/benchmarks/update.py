"""Index runs that find nothing to do."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from benchmarks.corpus import make_index, make_tree
from benchmarks.measure import DIRINDEX, PYTHON, Cost, Options, Row, costs, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def update(options: Options) -> Iterator[Row]:
    """Measure a run over a tree in which nothing has changed, beside `find` with the start of an interpreter."""
    tree, data_dir = options.place / f"small-{options.n_files}-tree", options.place / f"small-{options.n_files}-index"
    make_tree(tree, n_files=options.n_files, n_chunks_each=1)
    make_index(data_dir, tree).close()
    commands = {
        "python": (PYTHON, "-c", "pass"),
        "find": (shutil.which("find") or "find", str(tree), "-type", "f", "-printf", "%s %T@\n"),
        "index": (DIRINDEX, "index", str(tree), "--quiet", "--data-dir", str(data_dir)),
    }
    taken = costs(commands, rounds=options.rounds)
    baseline = Cost(taken["find"].cpu + taken["python"].cpu, taken["find"].wall + taken["python"].wall)
    what = f"index, nothing to do, {options.n_files:,} files"
    yield from rows_of(what, taken["index"], baseline, of="find -printf + python -c pass")
