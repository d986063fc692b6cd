"""Index runs that find nothing to do, or one line that was edited."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.corpus import large_tree, make_index, make_tree
from benchmarks.measure import DIRINDEX, PYTHON, Options, Row, costs, rows_of
from benchmarks.words import recoll_command, recollindex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.measure import Command, Prepared


def update(options: Options) -> Iterator[Row]:
    """Measure runs over a small and a large tree, beside `find`, and beside Recoll on the small one."""
    yield from _small(options)
    yield from _large(options)


def _small(options: Options) -> Iterator[Row]:
    tree, data_dir = (options.place / f"small-{options.n_files}-{what}" for what in ("tree", "index"))
    make_tree(tree, n_files=options.n_files, n_chunks_each=1)
    make_index(data_dir, tree).close()
    commands: dict[str, Command | Prepared] = {"index": index_command(tree, data_dir), "find": find_command(tree)}
    if recoll := recollindex():
        commands["recoll"] = recoll_command(recoll, options.place / f"small-{options.n_files}-recoll", [tree])
    taken = costs(commands, rounds=options.rounds)
    what = f"index, nothing to do, {options.n_files:,} files"
    for name, of in (("recoll", "recollindex"), ("find", "find -printf")):
        if name in taken:
            yield from rows_of(what, taken["index"], taken[name], of=of)


def _large(options: Options) -> Iterator[Row]:
    large = large_tree(options)
    index = index_command(large.tree, large.data_dir)
    with _edited_each_time(_typical_file(large.tree), index) as edited:
        commands: dict[str, Command | Prepared] = {
            "python": (PYTHON, "-c", "pass"),
            "find": find_command(large.tree),
            "nothing": index,
            "edit": edited,
        }
        taken = costs(commands, rounds=options.rounds)
    what = f"index, nothing to do, {large.n_files:,} files"
    yield from rows_of(what, taken["nothing"], taken["find"], of="find -printf")
    beyond_start = taken["nothing"] - taken["python"]
    yield from rows_of(f"{what}, less python -c pass", beyond_start, taken["find"], of="find -printf")
    yield from rows_of(
        f"index, one line edited, {large.n_files:,} files", taken["edit"], taken["nothing"], of="nothing to do"
    )


def index_command(tree: Path, data_dir: Path) -> Command:
    """Return the command that brings an index up to date."""
    return DIRINDEX, "index", str(tree), "--quiet", "--data-dir", str(data_dir)


def find_command(tree: Path) -> Command:
    """Return the command that looks at the size and time of every file."""
    return shutil.which("find") or "find", str(tree), "-type", "f", "-printf", "%s %T@\n"


def _typical_file(tree: Path) -> Path:
    files = sorted(tree.rglob("*.c")) or sorted(tree.rglob("*.txt"))
    return files[len(files) // 2]


@contextmanager
def _edited_each_time(file: Path, command: Command) -> Iterator[Prepared]:
    """Add another last line to a file whenever the command is asked for; in the end it is as it was."""
    content, status = file.read_bytes(), file.stat()

    def edit() -> Command:
        # A line that the index has had before would find its vector there.
        file.write_bytes(content + f"\nedited at {time.time_ns()}\n".encode())
        return command

    try:
        yield edit
    finally:
        file.write_bytes(content)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
