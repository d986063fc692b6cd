"""Indexes very much, and measures how much memory that takes."""

from __future__ import annotations

import os
import resource
import time
from typing import TYPE_CHECKING

from benchmarks.corpus import CHUNKS_PER_FILE, make_tree
from tortures.workbench import Child, run_index

from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from pathlib import Path

    from tortures.workbench import Torture

_FEW = 2000
_REAL_CHUNKS_PER_FILE = 31
"""The files of the benchmark have somewhat more chunks than were asked for."""

_MERGE_AT = 32_768
"""The embedder here takes no time; with a real one, as many vectors are merged in eight steps, and hours between."""


def large(torture: Torture) -> str:
    """Index a tree of about `size` chunks, and look at the most memory used."""
    n_files = max(torture.size // _REAL_CHUNKS_PER_FILE, 1)
    make_tree(torture.place / "chunks", n_files=n_files, n_chunks_each=CHUNKS_PER_FILE)
    return _measured(torture, torture.place / "chunks", n_files=n_files)


def many(torture: Torture) -> str:
    """Index `size` files in one directory, and look at the most memory used."""
    _make_many(torture.place / "files", torture.size)
    return _measured(torture, torture.place / "files", n_files=torture.size)


def _measured(torture: Torture, root: Path, *, n_files: int) -> str:
    started = time.monotonic()
    code, result = Child(_measured_run, torture.place / "index", root).wait()
    torture.require(code == 0, f"the run ends with {code}: {result}")
    if code:
        return "nothing was measured"
    n_known, n_chunks, megabytes = result
    torture.require(n_known == n_files, f"{n_known} of {n_files} files are known")
    torture.require(megabytes <= torture.memory_mb, f"the run used {megabytes} MB")
    seconds = time.monotonic() - started
    return f"{n_known:,} files, {n_chunks:,} chunks in {seconds:.0f} s with {megabytes:,} MB at most"


def _make_many(directory: Path, n_files: int) -> None:
    """Fill one directory; only the first files hold text, for the others it is their number that matters."""
    directory.mkdir(exist_ok=True)
    for number in range(n_files):
        with open(os.path.join(directory, f"f{number}.txt"), "w", encoding="utf-8") as file:
            file.write(f"note {number}\n" if number < _FEW else "")


def _measured_run(data_dir: Path, root: Path) -> tuple[int, int, int]:
    run_index(data_dir, root, merge_at=_MERGE_AT)
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        n_known = sum(len(snapshot.files.within(path)) for path in snapshot.directories.all())
        n_chunks = snapshot.chunks.count()
    return n_known, n_chunks, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
