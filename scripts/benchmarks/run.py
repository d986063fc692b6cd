"""A whole index run with the model: how much of its processor time goes elsewhere."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import PYTHON, Options, Row, cost_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PART_OF_LINUX = "samples"
"""A megabyte of C."""


def run(options: Options) -> Iterator[Row]:
    """Measure runs from nothing to an index of words and vectors: the start, the workers and the merge count, too."""
    directories = [options.linux / _PART_OF_LINUX] if options.linux else _sources_here()
    n_bytes = sum(path.stat().st_size for directory in directories for path in directory.rglob("*") if path.is_file())
    runs = [_run(directories, options.place) for _ in range(options.rounds)]
    total, model = (statistics.median(column) for column in zip(*runs, strict=True))
    shares = [100 * (1 - in_model / all_of_it) for all_of_it, in_model in runs]
    what = f"index run, {n_bytes / 1e6:.1f} MB"
    yield Row(what, "ms of processor", total, model, "inside the model")
    yield Row(f"{what}, outside the model", "% of processor", statistics.median(shares), 100, "the whole run")


def _run(directories: Sequence[Path], place: Path) -> tuple[float, float]:
    """Return milliseconds of processor time: those of the run, and those of them inside the model."""
    with tempfile.TemporaryDirectory(dir=place) as data_dir, tempfile.TemporaryFile() as output:
        program = str(Path(__file__).with_name("model_share.py"))
        total = cost_of((PYTHON, program, data_dir, *map(str, directories)), output=output).cpu
        output.seek(0)
        return total, float(output.read())


def _sources_here() -> list[Path]:
    """Return the sources and the documentation of this checkout."""
    checkout = Path(__file__).parent.parent.parent
    return [checkout / "directory_indexer", checkout / "docs"]
