"""Time until a tree can be searched by words, beside reading it, and beside Recoll, which indexes words alone."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpus import make_tree, only_words
from benchmarks.measure import Options, Row, costs, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.measure import Command, Prepared

_PARTS_OF_LINUX = ("include", "samples", "scripts", "security")
"""Some 6,900 files of 45 MB."""

_N_FILES = 7000
_N_CHUNKS_EACH = 12


def words(options: Options) -> Iterator[Row]:
    """Measure making an index of words from nothing."""
    directories = _directories(options)
    files = [path for directory in directories for path in directory.rglob("*") if path.is_file()]
    what = f"keyword index, {len(files):,} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB"
    find = (shutil.which("find") or "find", *map(str, directories), "-type", "f", "-exec", "cat", "{}", "+")
    with tempfile.TemporaryDirectory(dir=options.place) as temporary:
        places = (Path(temporary) / str(number) for number in itertools.count())
        commands: dict[str, Command | Prepared] = {"ours": lambda: only_words(next(places), directories), "cat": find}
        if recoll := recollindex():
            commands["recoll"] = lambda: recoll_command(recoll, next(places), directories)
        taken = costs(commands, rounds=options.rounds)
    for name, of in (("recoll", "recollindex"), ("cat", "cat")):
        if name in taken:
            yield from rows_of(what, taken["ours"], taken[name], of=of)


def recollindex() -> str | None:
    """Find Recoll's indexer, if it is installed."""
    return shutil.which("recollindex")


def recoll_command(program: str, configuration: Path, directories: Sequence[Path]) -> Command:
    """Write a configuration with an index of its own; give the command that brings it up to date."""
    configuration.mkdir(exist_ok=True)
    settings = {"topdirs": " ".join(map(str, directories)), "loglevel": "1", "idxlogfilename": "/dev/null"}
    lines = [f"{key} = {value}\n" for key, value in settings.items()]
    (configuration / "recoll.conf").write_text("".join(lines), encoding="utf-8")
    return program, "-c", str(configuration)


def _directories(options: Options) -> list[Path]:
    if options.linux:
        return [options.linux / part for part in _PARTS_OF_LINUX]
    tree = options.place / "words-tree"
    make_tree(tree, n_files=_N_FILES, n_chunks_each=_N_CHUNKS_EACH)
    return [tree]
