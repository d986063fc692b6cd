"""Trees and indexes to measure on: text of made-up words, and random vectors in place of those of the model."""

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
        """Return directories that hold about a fiftieth of the files each."""
        return sorted(self.tree.iterdir())


def corpus_of(n_chunks: int, place: Path) -> Corpus:
    """Create a tree of about so many chunks and its index, unless they exist, and return them."""
    tree = place / f"large-{n_chunks}-tree"
    make_tree(tree, n_files=-(-n_chunks // CHUNKS_PER_FILE), n_chunks_each=CHUNKS_PER_FILE)
    return indexed(tree, place / f"large-{n_chunks}-index")


def large_tree(options: Options) -> Corpus:
    """Return the sources of Linux or a generated tree, with an index, which is created unless it exists."""
    if options.linux:
        return indexed(options.linux, options.place / "linux-index")
    tree = options.place / f"small-{options.n_files_large}-tree"
    make_tree(tree, n_files=options.n_files_large, n_chunks_each=1)
    return indexed(tree, options.place / f"small-{options.n_files_large}-index")


def indexed(tree: Path, data_dir: Path) -> Corpus:
    """Index a tree with random vectors, or bring its index up to date."""
    cost_of((*CHEAP_COMMAND, *index_command(tree, data_dir, "complete")[1:]))
    app = cheap_app(data_dir)
    summary = app.status.summary()
    app.close()
    if not summary.n_files:
        sys.exit(f"no file of {tree} may be indexed; dirindex index {tree} --dry-run --verbose tells why")
    return Corpus(tree, data_dir, summary.n_files, summary.n_chunks)


def index_command(tree: Path | Sequence[Path], data_dir: Path, embedding: str = "") -> Command:
    """Return the command that brings an index up to date, with another value of `indexing.embedding`."""
    settings: tuple[str, ...] = ()
    if embedding:
        config = data_dir.with_suffix(".json")
        config.write_text(json.dumps({"indexing": {"embedding": embedding}}), encoding="utf-8")
        settings = ("--config", str(config))
    trees = [tree] if isinstance(tree, Path) else tree
    return DIRINDEX, "index", *map(str, trees), "--data-dir", str(data_dir), "--yes", "--quiet", *settings


def make_tree(root: Path, *, n_files: int, n_chunks_each: int) -> None:
    """Write files of about so many chunks, unless they are there."""
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
    """Return words that can be spoken; the first ones are used most."""
    rng = random.Random(7)
    syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
    return list(dict.fromkeys("".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(30_000)))


def queries(number: int) -> list[str]:
    """Return queries of words that are neither the most common nor the rarest."""
    rng = random.Random(11)
    words = vocabulary()[50:5000]
    return [" ".join(rng.choices(words, k=4)) for _ in range(number)]


def find_command(directories: Sequence[Path], *action: str) -> Command:
    """Return the command that goes through all files."""
    return shutil.which("find") or "find", *map(str, directories), "-type", "f", *action


def recoll_command(configuration: Path, directories: Sequence[Path]) -> Command | None:
    """Write a configuration with an index of its own; return the command that brings it up to date, if installed."""
    program = shutil.which("recollindex")
    configuration.mkdir(exist_ok=True)
    settings = {"topdirs": " ".join(map(str, directories)), "loglevel": "1", "idxlogfilename": "/dev/null"}
    lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
    (configuration / "recoll.conf").write_text(lines, encoding="utf-8")
    return (program, "-c", str(configuration)) if program else None
