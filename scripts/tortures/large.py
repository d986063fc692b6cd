"""Indexes very much, and measures how much memory that takes."""

from __future__ import annotations

import os
import resource
import time
from typing import TYPE_CHECKING

from benchmarks.corpus import CHUNKS_PER_FILE, make_tree
from tortures.workbench import Child, run_index

from directory_indexer.docstore import DocStore

if TYPE_CHECKING:
    from pathlib import Path

    from tortures.workbench import Torture

_FEW = 2000


def large(torture: Torture) -> str:
    """Index a tree of `size` chunks, then one of as many files in one directory, and look at the most memory used."""
    told = []
    n_files = max(torture.size // CHUNKS_PER_FILE, 1)
    make_tree(torture.place / "chunks", n_files=n_files, n_chunks_each=CHUNKS_PER_FILE)
    _make_many(torture.place / "files", torture.size)
    for name in ("chunks", "files"):
        started = time.monotonic()
        code, result = Child(_measured_run, torture.place / f"index of {name}", torture.place / name).wait()
        torture.require(code == 0, f"{name}: the run ends with {code}: {result}")
        if code == 0:
            n_known, n_chunks, megabytes = result
            torture.require(n_known == (n_files if name == "chunks" else torture.size), f"{name}: {n_known} are known")
            torture.require(megabytes <= torture.memory_mb, f"{name}: the run used {megabytes} MB")
            seconds = time.monotonic() - started
            told.append(
                f"{name}: {n_known:,} files, {n_chunks:,} chunks in {seconds:.0f} s with {megabytes:,} MB at most"
            )
    return "; ".join(told)


def _make_many(directory: Path, n_files: int) -> None:
    """Fill one directory; only the first files hold text, for the others it is their number that matters."""
    directory.mkdir(exist_ok=True)
    for number in range(n_files):
        with open(os.path.join(directory, f"f{number}.txt"), "w", encoding="utf-8") as file:
            file.write(f"note {number}\n" if number < _FEW else "")


def _measured_run(data_dir: Path, root: Path) -> tuple[int, int, int]:
    run_index(data_dir, root, merge_at=4096)
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        n_known = sum(len(snapshot.known_files(id_)) for id_ in snapshot.directories().values())
        n_chunks = snapshot.n_chunks
    return n_known, n_chunks, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
