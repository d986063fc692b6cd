"""Trees and indexes for benchmarks: text of made-up words, and random vectors instead of the model's."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.measure import DIRINDEX, Command, Options, cost_of
from cheap import CHEAP_COMMAND, cheap_app

CHUNKS_PER_FILE: Final = 10
N_PARTS: Final = 50
_LINES_PER_CHUNK: Final = 10
_WORDS_PER_LINE: Final = 9
_FILES_PER_DIRECTORY: Final = 40


class Corpus(NamedTuple):
    """A tree and its index."""

    tree: Path
    data_dir: Path
    n_files: int
    n_chunks: int

    @property
    def parts(self) -> list[Path]:
        """Return directories with about a fiftieth of the files each."""
        return sorted(self.tree.iterdir())


def corpus_of(n_chunks: int, place: Path) -> Corpus:
    """Return a tree of about `n_chunks` chunks with its index, created on first use."""
    tree = place / f"large-{n_chunks}-tree"
    make_tree(tree, n_files=-(-n_chunks // CHUNKS_PER_FILE), n_chunks_each=CHUNKS_PER_FILE)
    return indexed(tree, place / f"large-{n_chunks}-index")


def large_tree(options: Options) -> Corpus:
    """Return the sources of Linux or a generated tree, with an index, created on first use."""
    if options.linux:
        return indexed(options.linux, options.place / "linux-index")
    tree = options.place / f"small-{options.n_files_large}-tree"
    make_tree(tree, n_files=options.n_files_large, n_chunks_each=1)
    return indexed(tree, options.place / f"small-{options.n_files_large}-index")


def indexed(tree: Path, data_dir: Path) -> Corpus:
    """Index a tree with random vectors, or update its index."""
    cost_of((*CHEAP_COMMAND, *index_command(tree, data_dir, "complete")[1:]))
    app = cheap_app(data_dir)
    summary = app.status.summary()
    app.close()
    if not summary.n_files:
        sys.exit(f"no file of {tree} may be indexed; dirindex index {tree} --dry-run --verbose tells why")
    return Corpus(tree, data_dir, summary.n_files, summary.n_chunks)


def index_command(tree: Path | Sequence[Path], data_dir: Path, embedding: str = "") -> Command:
    """Return the command that updates an index, with a value of `indexing.embedding`."""
    settings: tuple[str, ...] = ()
    if embedding:
        config = data_dir.with_suffix(".json")
        config.write_text(json.dumps({"indexing": {"embedding": embedding}}), encoding="utf-8")
        settings = ("--config", str(config))
    trees = [tree] if isinstance(tree, Path) else tree
    return DIRINDEX, "index", *map(str, trees), "--data-dir", str(data_dir), "--yes", "--quiet", *settings


def make_tree(root: Path, *, n_files: int, n_chunks_each: int) -> None:
    """Write files of about that many chunks, unless they exist."""
    if root.is_dir():
        return
    words, rng = vocabulary(), random.Random(7)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for number in range(n_files):
        directory = root / f"part{number // _FILES_PER_DIRECTORY % N_PARTS}" / f"topic{number // _FILES_PER_DIRECTORY}"
        directory.mkdir(parents=True, exist_ok=True)
        drawn = iter(rng.choices(words, cum_weights=weights, k=n_chunks_each * _LINES_PER_CHUNK * _WORDS_PER_LINE))
        lines = [" ".join(line) for line in zip(*[drawn] * _WORDS_PER_LINE, strict=True)]
        (directory / f"note{number}.txt").write_text("\n".join(lines), encoding="utf-8")


def vocabulary() -> list[str]:
    """Return pronounceable words, the most frequent first."""
    rng = random.Random(7)
    syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
    return list(dict.fromkeys("".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(30_000)))


def queries(number: int) -> list[str]:
    """Return queries of words of medium frequency."""
    rng = random.Random(11)
    words = vocabulary()[50:5000]
    return [" ".join(rng.choices(words, k=4)) for _ in range(number)]


def find_command(directories: Sequence[Path], *action: str) -> Command:
    """Return the `find` command that visits all files."""
    return shutil.which("find") or "find", *map(str, directories), "-type", "f", *action


def recoll_command(configuration: Path, directories: Sequence[Path]) -> Command | None:
    """Write a configuration with a separate index; return the command that updates it, if installed."""
    program = shutil.which("recollindex")
    configuration.mkdir(exist_ok=True)
    settings = {"topdirs": " ".join(map(str, directories)), "loglevel": "1", "idxlogfilename": "/dev/null"}
    lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
    (configuration / "recoll.conf").write_text(lines, encoding="utf-8")
    return (program, "-c", str(configuration)) if program else None
