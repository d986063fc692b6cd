"""How soon a tree can be searched by meaning: beside its words alone, semble and Recoll; and when all is embedded."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpus import make_tree
from benchmarks.measure import DIRINDEX, PYTHON, Command, Options, Prepared, Row, cost_of, costs, memory_of, rows_of
from benchmarks.words import recoll_command, recollindex

from directory_indexer.app import App
from directory_indexer.config import load_config

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARTS_OF_LINUX = ("fs", "kernel", "mm", "net", "crypto", "block", "security", "lib", "Documentation")
"""Some 14,600 files of 150 MB."""

_N_FILES = 7000
_N_CHUNKS_EACH = 12

_EMBEDDING_SECONDS = 120
"""The rate of so long a run stands for that of all the rest."""

_SEMBLE = (
    "import sys; from semble import SembleIndex; "
    "index = SembleIndex.from_path(sys.argv[1]); index.search('where is the file opened', top_k=5)"
)


def first_meaning(options: Options) -> Iterator[Row]:
    """Measure making an index of words and static vectors from nothing, and project when all chunks are embedded."""
    tree = _tree(options)
    files = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    what = f"{len(files):,} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB"
    with tempfile.TemporaryDirectory(dir=options.place) as temporary:
        places = (Path(temporary) / str(number) for number in itertools.count())
        ours: dict[str, Command | Prepared] = {
            mode: lambda mode=mode: _index(next(places), tree, mode)  # type: ignore[misc]
            for mode in ("off", "on-demand")
        }
        others: dict[str, Command | Prepared] = {}
        if recoll := recollindex():
            others["recollindex"] = lambda: recoll_command(recoll, next(places), [tree])
        if _has_semble():
            others["semble"] = (PYTHON, "-c", _SEMBLE, str(tree))
        taken = costs(ours | others, rounds=options.rounds)
        yield from rows_of(f"words and first pass, {what}", taken["on-demand"], taken["off"], of="words alone")
        for name in others:
            yield from rows_of(f"words and first pass, {what}", taken["on-demand"], taken[name], of=name)
        place = next(places)
        held = memory_of(_index(place, tree, "on-demand")).all
        yield Row("words and first pass", "MB of memory", held)
        for name, command in others.items():
            baseline = memory_of(command() if callable(command) else command).all
            yield Row("words and first pass", "MB of memory", held, baseline, name)
        yield from _completion(place, tree)


def _completion(place: Path, tree: Path) -> Iterator[Row]:
    before = _n_waiting(place)
    yield Row("database after the first pass", "bytes a chunk", (place / "data.db").stat().st_size / before)
    cost = cost_of((*_index(place, tree, "complete"), "--max-seconds", str(_EMBEDDING_SECONDS)), may_fail=True)
    embedded = before - _n_waiting(place)
    yield Row("embedding", "chunks a second", 1000 * embedded / cost.wall)
    yield Row(
        f"until all of {before:,} chunks are embedded", "minutes, projected", before / embedded * cost.wall / 60_000
    )


def _index(place: Path, tree: Path, mode: str) -> Command:
    place.mkdir(exist_ok=True)
    settings = place / "config.json"
    settings.write_text(json.dumps({"indexing": {"embedding": mode}}), encoding="utf-8")
    return DIRINDEX, "index", str(tree), "--data-dir", str(place), "--config", str(settings), "--yes", "--quiet"


def _n_waiting(place: Path) -> int:
    app = App(load_config(file=None, data_dir=place, environ={}))
    with app.docstore.snapshot() as snapshot:
        n_waiting = snapshot.embedding_queue.count()
    app.close()
    return n_waiting


def _has_semble() -> bool:
    return shutil.which("semble", path=str(Path(PYTHON).parent)) is not None


def _tree(options: Options) -> Path:
    tree = options.place / "first-meaning-tree"
    if not tree.exists():
        if options.linux:
            for part in _PARTS_OF_LINUX:
                shutil.copytree(options.linux / part, tree / part, symlinks=True)
        else:
            make_tree(tree, n_files=_N_FILES, n_chunks_each=_N_CHUNKS_EACH)
    return tree
