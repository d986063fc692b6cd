"""Benchmarks of commands that start, search, index and update, each a separate process."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.corpus import (
    corpus_of,
    find_command,
    index_command,
    indexed,
    large_tree,
    make_tree,
    queries,
    recoll_command,
)
from benchmarks.measure import (
    DIRINDEX,
    NOTHING,
    PYTHON,
    Command,
    Options,
    Prepared,
    Row,
    cost_of,
    costs,
    rows_of,
    size_of,
)

from directory_indexer.app import App
from directory_indexer.config import load_config

_N_CHUNKS_EACH: Final = 12
_MODEL_SECONDS: Final = 120


def start(options: Options) -> Iterator[Row]:
    """Measure commands that do nothing."""
    taken = costs({**NOTHING, **{name: (DIRINDEX, name) for name in ("--version", "--help")}}, rounds=options.rounds)
    for name in ("--version", "--help"):
        yield from rows_of(f"dirindex {name}", taken[name], taken["python -c pass"], of="python -c pass")


def search(options: Options) -> Iterator[Row]:
    """Measure keyword and hybrid searches, each in a cold process, on a large index."""
    corpus = corpus_of(options.n_chunks, options.place)
    command = (DIRINDEX, "search", queries(1)[0], "--quiet", "--limit", "10", "--data-dir", str(corpus.data_dir))
    modes = {mode: (*command, "--mode", mode) for mode in ("keyword", "hybrid")}
    taken = costs({**NOTHING, **modes}, rounds=options.rounds)
    for mode in modes:
        what = f"search --mode {mode}, {corpus.n_chunks:,} chunks"
        yield from rows_of(what, taken[mode], taken["python -c pass"], of="python -c pass")


def words(options: Options) -> Iterator[Row]:
    """Measure building a keyword index, compared with reading the files, and with Recoll."""
    directories = [options.place / f"words-{options.n_files}-tree"]
    if options.linux:
        directories = [options.linux / part for part in ("include", "samples", "scripts", "security")]  # 45 MB
    make_tree(directories[0], n_files=options.n_files, n_chunks_each=_N_CHUNKS_EACH)
    what = f"keyword index, {size_of(directories)}"
    with tempfile.TemporaryDirectory(dir=options.place) as temporary:
        places = (Path(temporary) / str(number) for number in itertools.count())
        commands: dict[str, Command | Prepared] = {
            "ours": lambda: index_command(directories, next(places), "off"),
            "cat": find_command(directories, "-exec", "cat", "{}", "+"),
        }
        if recoll_command(next(places), directories):
            commands["recollindex"] = lambda: recoll_command(next(places), directories) or ()
        taken = costs(commands, rounds=options.rounds)
    for name in list(taken)[:0:-1]:
        yield from rows_of(what, taken["ours"], taken[name], of=name)


def update(options: Options) -> Iterator[Row]:
    """Measure runs without changes, or with one edited line, compared with `find` and Recoll."""
    tree = options.place / f"small-{options.n_files}-tree"
    make_tree(tree, n_files=options.n_files, n_chunks_each=1)
    small = indexed(tree, options.place / f"small-{options.n_files}-index")
    commands: dict[str, Command | Prepared] = {
        "index": index_command(tree, small.data_dir),
        "find -printf": find_command([tree], "-printf", "%s %T@\n"),
    }
    if recoll := recoll_command(options.place / f"small-{options.n_files}-recoll", [tree]):
        commands["recollindex"] = recoll
    taken = costs(commands, rounds=options.rounds)
    for name in list(taken)[:0:-1]:
        yield from rows_of(f"index, nothing to do, {options.n_files:,} files", taken["index"], taken[name], of=name)
    large = large_tree(options)
    index = index_command(large.tree, large.data_dir)
    files = sorted(large.tree.rglob("*.c")) or sorted(large.tree.rglob("*.txt"))
    with _edited_each_time(files[len(files) // 2], index) as edited:
        find = find_command([large.tree], "-printf", "%s %T@\n")
        commands = {"find": find, "nothing": index, "edit": edited}
        taken = costs(commands, rounds=options.rounds)
    n_files = f"{large.n_files:,} files"
    yield from rows_of(f"index, nothing to do, {n_files}", taken["nothing"], taken["find"], of="find -printf")
    yield from rows_of(f"index, one line edited, {n_files}", taken["edit"], taken["nothing"], of="nothing to do")


@contextmanager
def _edited_each_time(file: Path, command: Command) -> Iterator[Prepared]:
    """Append a new line to a file before each command, and restore it at the end."""
    content, status = file.read_bytes(), file.stat()

    def edit() -> Command:
        # A line that was indexed before would reuse its vector.
        file.write_bytes(content + f"\nedited at {time.time_ns()}\n".encode())
        return command

    try:
        yield edit
    finally:
        file.write_bytes(content)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def first_meaning(options: Options) -> Iterator[Row]:
    """Measure building an index of words and static vectors, and then the rate of the model."""
    tree = options.place / "first-meaning-tree"
    if options.linux and not tree.exists():
        for part in ("fs", "kernel", "mm", "net", "crypto", "block", "security", "lib"):  # 5,800 files of 108 MB
            shutil.copytree(options.linux / part, tree / part, symlinks=True)
    make_tree(tree, n_files=options.n_files, n_chunks_each=_N_CHUNKS_EACH)
    what = f"keyword index and static vectors, {size_of([tree])}"
    with tempfile.TemporaryDirectory(dir=options.place) as temporary:
        places = (Path(temporary) / str(number) for number in itertools.count())
        commands: dict[str, Prepared] = {
            what: lambda: _without_improvement(index_command(tree, next(places), "on-demand")),
            "improved static vectors": lambda: index_command(tree, next(places), "on-demand"),
            "keyword index alone": lambda: index_command(tree, next(places), "off"),
        }
        if recoll_command(next(places), [tree]):
            commands["recollindex"] = lambda: recoll_command(next(places), [tree]) or ()
        if semble := shutil.which("semble"):
            commands["semble"] = lambda: _semble(semble, next(places), tree)
        cost_of(find_command([tree], "-exec", "cat", "{}", "+"))
        taken = costs(commands, rounds=options.rounds, is_watched=True)
        for name in list(taken)[1:]:
            yield from rows_of(what, taken[what], taken[name], of=name)
            yield Row(what, "MB of memory", taken[what].memory, taken[name].memory, name)
        place = next(places)
        cost_of(index_command(tree, place, "on-demand"))
        yield from _completion(place, tree)


def _without_improvement(index: Command) -> Command:
    """Return an index command that ends as soon as every passage has a static vector."""
    program = "from directory_indexer.indexing import static_vectors as s; s._N_ALL_TEXTS = 0; "
    program += "from directory_indexer.__main__ import start; start()"
    return PYTHON, "-c", program, *index[1:]


def _semble(program: str, cache: Path, tree: Path) -> Command:
    """Index with semble and search once, which is its only way to build an index."""
    cache.mkdir()
    question = (program, "search", "--content", "all", "--format", "text", "where is the file opened", str(tree))
    return shutil.which("env") or "env", f"SEMBLE_CACHE_LOCATION={os.path.realpath(cache)}", *question


def _completion(place: Path, tree: Path) -> Iterator[Row]:
    before = _n_waiting(place)
    yield Row("database with static vectors", "bytes a chunk", (place / "data.db").stat().st_size / before)
    command = (*index_command(tree, place, "complete"), "--max-seconds", str(_MODEL_SECONDS))
    cost = cost_of(command)
    embedded = before - _n_waiting(place)
    yield Row("embedding", "chunks a second", 1000 * embedded / cost.wall)
    minutes = before / embedded * cost.wall / 60_000
    yield Row(f"until all of {before:,} chunks are embedded", "minutes, projected", minutes)


def _n_waiting(place: Path) -> int:
    app = App(load_config(file=None, data_dir=place, environ={}))
    with app.docstore.snapshot() as snapshot:
        n_waiting = snapshot.embedding_queue.count()
    app.close()
    return n_waiting
