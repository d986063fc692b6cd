"""Disk space of an index, beside the text that it was made of, and beside Recoll's, which is of words alone."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpus import make_index, make_tree
from benchmarks.measure import Options, Row
from benchmarks.words import recoll_command, recollindex

if TYPE_CHECKING:
    from collections.abc import Iterator

_PART_OF_LINUX = "include"
"""Some 6,000 files of 40 MB."""

_N_CHUNKS_EACH = 12


def disk(options: Options) -> Iterator[Row]:
    """Measure the files of an index after a finished run; what is allocated counts, holes do not."""
    tree = options.linux / _PART_OF_LINUX if options.linux else options.place / f"disk-{options.n_files}-tree"
    make_tree(tree, n_files=options.n_files, n_chunks_each=_N_CHUNKS_EACH)
    with tempfile.TemporaryDirectory(dir=options.place) as temporary:
        data_dir = Path(temporary) / "index"
        app = make_index(data_dir, tree)
        summary, [directory] = app.status.summary(), app.status.report().directories
        app.close()
        text = directory.n_bytes / 1e6
        what = f"index, {summary.n_files:,} files, {summary.n_chunks:,} chunks"
        yield Row(what, "MB", _megabytes(data_dir), text, "text")
        yield Row("  of it texts and words", "MB", _megabytes(data_dir, "data.db*"), text, "text")
        if vectors := _megabytes(data_dir / "qdrant"):
            yield Row("  of it vectors", "MB", vectors, text, "text")
        if program := recollindex():
            place = Path(temporary) / "recoll"
            subprocess.run(recoll_command(program, place, [tree]), check=True, capture_output=True)  # noqa: S603 - Recoll
            yield Row(what, "MB", _megabytes(data_dir), _megabytes(place), "recollindex")


def _megabytes(place: Path, pattern: str = "**/*") -> float:
    files = {status.st_ino: status.st_blocks for status in (path.stat() for path in place.glob(pattern))}
    return sum(files.values()) * 512 / 1e6
