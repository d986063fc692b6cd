"""Time until a tree can be searched by meaning: beside its words alone, semble and Recoll; and when all is embedded."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpus import make_tree
from benchmarks.measure import (
    DIRINDEX,
    Command,
    Cost,
    Memory,
    Options,
    Prepared,
    Row,
    cost_and_memory,
    cost_of,
    percentile,
    rows_of,
)
from benchmarks.search import queries
from benchmarks.serving import Server
from benchmarks.words import recoll_command, recollindex

from directory_indexer.app import App
from directory_indexer.config import load_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PARTS_OF_LINUX = ("fs", "kernel", "mm", "net", "crypto", "block", "security", "lib")
"""Some 5,800 files of 108 MB."""

_N_FILES = 7000
_N_CHUNKS_EACH = 12

_EMBEDDING_SECONDS = 120
"""The rate of so long a run stands for that of all the rest."""

_QUESTIONS = (
    "how is a page fault on a shared mapping handled",
    "where is the receive window of a connection adjusted",
    "decide which task runs next",
    "write back dirty pages when memory is low",
    "check a certificate against the keys of the kernel",
    "merge two neighbouring requests of a block device",
    "read the entries of a directory",
    "fragments of a packet are put together again",
    "a lock is taken while interrupts are off",
    "encrypt a buffer in counter mode",
    "free the memory of a process that ends",
    "what happens when the disk is full",
    "account the time that a task has run",
    "find an inode by its number",
    "limit the memory of a group of processes",
    "send a signal to a thread",
    "sort a linked list",
    "wait until all readers have left",
    "rename a file across directories",
    "name lookup that follows symbolic links",
)
"""Each is the first of its kind, and embeds candidates of its own."""


_WAYS = {"keyword": "keyword", "first time": "hybrid", "repeated": "hybrid"}


@dataclass(frozen=True)
class _Run:
    cost: Cost
    memory: Memory


def first_meaning(options: Options) -> Iterator[Row]:
    """Measure making an index of words and static vectors from nothing, and searches when no chunk is embedded yet."""
    tree = _tree(options)
    what = f"keyword index and static vectors, {_size(tree)}"
    with tempfile.TemporaryDirectory(dir=options.place) as temporary:
        places = (Path(temporary) / str(number) for number in itertools.count())
        taken = _taken(tree, places, rounds=options.rounds)
        ours = taken["keyword index and static vectors"]
        for name in [name for name in taken if taken[name] is not ours]:
            yield from rows_of(what, ours.cost, taken[name].cost, of=name)
            yield Row(what, "MB of memory", ours.memory.all, taken[name].memory.all, name)
        place = next(places)
        cost_of(_index(place, tree, "on-demand"))
        yield from _searches(place, _QUESTIONS if options.linux else queries(len(_QUESTIONS)))
        yield from _completion(place, tree)
        if options.linux:
            yield from _whole(next(places), options.linux)


def _taken(tree: Path, places: Iterator[Path], *, rounds: int) -> dict[str, _Run]:
    """Run all in turns, with the files in the cache; give the medians."""
    commands: dict[str, Prepared] = {
        "keyword index and static vectors": lambda: _index(next(places), tree, "on-demand"),
        "keyword index alone": lambda: _index(next(places), tree, "off"),
    }
    if recoll := recollindex():
        commands["recollindex"] = lambda: recoll_command(recoll, next(places), [tree])
    if semble := shutil.which("semble"):
        commands["semble"] = lambda: _semble(semble, next(places), tree)
    cost_of((shutil.which("find") or "find", str(tree), "-type", "f", "-exec", "cat", "{}", "+"))
    runs: Mapping[str, list[_Run]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(_Run(*cost_and_memory(command())))
    return {name: _median(of_one) for name, of_one in runs.items()}


def _median(runs: Sequence[_Run]) -> _Run:
    cpu, wall, held, anonymous = (
        statistics.median(column)
        for column in zip(
            *((run.cost.cpu, run.cost.wall, run.memory.all, run.memory.anonymous) for run in runs), strict=True
        )
    )
    return _Run(Cost(cpu, wall), Memory(held, anonymous))


def _searches(place: Path, questions: Sequence[str]) -> Iterator[Row]:
    """Ask each question by words, for the first time by words and meaning, and again.

    A third of them is for commands, one for a server, and one for a server that embeds in the background meanwhile.
    """
    settings = ("--config", str(place / "config.json"))
    for name, mode in _WAYS.items():
        command = (DIRINDEX, "search", "--quiet", "--mode", mode, "--data-dir", str(place), *settings)
        taken = [cost_of((*command, question), may_fail=True) for question in questions[::3]]
        yield from _of_many(f"search command, {name}", taken)
    yield from _calls("search in serve", Server(place, *settings), questions[1::3])
    yield from _calls("search in serve that also embeds", Server(place), questions[2::3])


def _calls(what: str, server: Server, questions: Sequence[str]) -> Iterator[Row]:
    with server:
        server.until_ready()
        for name, mode in _WAYS.items():
            taken = []
            for question in questions:
                before = server.spent()
                server.call("search", query=question, mode=mode)
                taken.append(server.spent() - before)
            yield from _of_many(f"{what}, {name}", taken)


def _of_many(what: str, taken: Sequence[Cost]) -> Iterator[Row]:
    for name, percent in (("median", 50), ("95 of 100", 95)):
        yield Row(f"{what}, {name}", "ms of processor", percentile([cost.cpu for cost in taken], percent))
        yield Row(f"{what}, {name}", "ms of the clock", percentile([cost.wall for cost in taken], percent))


def _whole(place: Path, linux: Path) -> Iterator[Row]:
    """Index all the sources of Linux once: by words, then the first pass; the model's rate tells the rest."""
    for name, mode in (("keyword index", "off"), ("static vectors after it", "on-demand")):
        cost, memory = cost_and_memory(_index(place, linux, mode))
        yield Row(f"{name}, {_size(linux)}", "s of processor", cost.cpu / 1000)
        yield Row(f"{name}, {_size(linux)}", "s of the clock", cost.wall / 1000)
        yield Row(f"{name}, {_size(linux)}", "MB of memory", memory.all)
    yield from _searches(place, _QUESTIONS)
    yield from _completion(place, linux)


def _completion(place: Path, tree: Path) -> Iterator[Row]:
    before = _n_waiting(place)
    yield Row("database with static vectors", "bytes a chunk", (place / "data.db").stat().st_size / before)
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


def _semble(program: str, cache: Path, tree: Path) -> Command:
    """Index with semble, from nothing, and ask once; it has no other way to make an index."""
    cache.mkdir()
    words = (program, "search", "--content", "all", "--format", "text", "where is the file opened", str(tree))
    return shutil.which("env") or "env", f"SEMBLE_CACHE_LOCATION={os.path.realpath(cache)}", *words


def _n_waiting(place: Path) -> int:
    app = App(load_config(file=None, data_dir=place, environ={}))
    with app.docstore.snapshot() as snapshot:
        n_waiting = snapshot.embedding_queue.count()
    app.close()
    return n_waiting


def _size(tree: Path) -> str:
    files = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    return f"{len(files):,} files, {sum(path.stat().st_size for path in files) / 1e6:,.0f} MB"


def _tree(options: Options) -> Path:
    tree = options.place / "first-meaning-tree"
    if not tree.exists():
        if options.linux:
            for part in _PARTS_OF_LINUX:
                shutil.copytree(options.linux / part, tree / part, symlinks=True)
        else:
            make_tree(tree, n_files=_N_FILES, n_chunks_each=_N_CHUNKS_EACH)
    return tree
