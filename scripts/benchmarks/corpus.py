"""Trees and indexes to measure on: text of made-up words, and vectors of chance in the place of the model's."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.measure import PYTHON, Cost, Memory, cost_of, memory_of

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.embedding_space import EmbeddingSpace, EmbeddingUsage
from directory_indexer.embedding.loading import Access, Embedders
from directory_indexer.embedding.model_files import DIMENSIONS
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.measure import Command, Options
    from numpy.typing import NDArray

CHUNKS_PER_FILE = 10
N_PARTS = 50
LINES_PER_CHUNK = 10
_FILES_PER_DIRECTORY = 40
WORDS_PER_LINE = 9
_N_CENTRES = 200

# With the model a merge comes minutes after the last one, and without it seconds. Fewer of them hold no less in memory.
EmbeddedVectorStore.merge_at = 20_000


@dataclass(frozen=True)
class Corpus:
    """A tree and its index, and what it took to make the tree searchable by words when the index was made."""

    tree: Path
    data_dir: Path
    n_files: int
    n_chunks: int
    words: Cost

    @property
    def parts(self) -> list[Path]:
        """Return directories that hold about a fiftieth of the files each."""
        return sorted(self.tree.iterdir())


@dataclass(frozen=True)
class LargeTree:
    """A tree of many files and its index, and what the run that made the index held in memory."""

    tree: Path
    data_dir: Path
    n_files: int
    n_chunks: int
    memory: Memory


def corpus_of(n_chunks: int, place: Path) -> Corpus:
    """Make a tree of about so many chunks and its index, unless they are there."""
    tree, data_dir, taken = (place / f"large-{n_chunks}-{what}" for what in ("tree", "index", "words.json"))
    make_tree(tree, n_files=-(-n_chunks // CHUNKS_PER_FILE), n_chunks_each=CHUNKS_PER_FILE)
    if not taken.exists():
        shutil.rmtree(data_dir, ignore_errors=True)
        taken.write_text(json.dumps(asdict(cost_of(only_words(data_dir, [tree])))), encoding="utf-8")
    app = make_index(data_dir, tree)
    summary = app.status.summary()
    app.close()
    return Corpus(tree, data_dir, summary.n_files, summary.n_chunks, Cost(**json.loads(taken.read_text("utf-8"))))


def large_tree(options: Options) -> LargeTree:
    """Take the sources of Linux or make a tree, and make its index unless it is there."""
    tree, name = options.place / f"small-{options.n_files_large}-tree", f"small-{options.n_files_large}"
    if options.linux:
        tree, name = options.linux, "linux"
    make_tree(tree, n_files=options.n_files_large, n_chunks_each=1)
    data_dir, taken = options.place / f"{name}-index", options.place / f"{name}-memory.json"
    if not taken.exists():
        shutil.rmtree(data_dir, ignore_errors=True)
        program = str(Path(__file__).with_name("vectors_of_chance.py"))
        taken.write_text(json.dumps(asdict(memory_of((PYTHON, program, str(data_dir), str(tree))))), encoding="utf-8")
    app = make_index(data_dir, tree)
    summary = app.status.summary()
    app.close()
    memory = Memory(**json.loads(taken.read_text("utf-8")))
    return LargeTree(tree, data_dir, summary.n_files, summary.n_chunks, memory)


def only_words(data_dir: Path, directories: Sequence[Path]) -> Command:
    """Return the command that indexes directories and does not embed."""
    return PYTHON, str(Path(__file__).with_name("only_words.py")), str(data_dir), *map(str, directories)


def make_tree(root: Path, *, n_files: int, n_chunks_each: int, seed: int = 7) -> None:
    """Write files of about so many chunks, unless they are there; the words are the same whatever the seed."""
    if root.is_dir():
        return
    words = vocabulary(random.Random(7))
    chance = random.Random(seed)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for number in range(n_files):
        directory = root / f"part{number // _FILES_PER_DIRECTORY % N_PARTS}" / f"topic{number // _FILES_PER_DIRECTORY}"
        directory.mkdir(parents=True, exist_ok=True)
        drawn = iter(chance.choices(words, cum_weights=weights, k=n_chunks_each * LINES_PER_CHUNK * WORDS_PER_LINE))
        lines = [" ".join(line) for line in zip(*[drawn] * WORDS_PER_LINE, strict=True)]
        (directory / f"note{number}.txt").write_text("\n".join(lines), encoding="utf-8")


def vocabulary(chance: random.Random) -> list[str]:
    """Make words that can be spoken; the first ones are used most."""
    syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
    return list(dict.fromkeys("".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(30_000)))


def app_of_chance(data_dir: Path) -> App:
    """Open an index, to give it vectors of chance."""
    app = App(load_config(file=None, data_dir=data_dir, environ={}))
    app.embedders = Embedders(EmbedderOfChance.space, Access(), build=lambda *_: EmbedderOfChance())
    return app


def make_index(data_dir: Path, root: Path) -> App:
    """Index a tree, or bring its index up to date, with vectors of chance."""
    app = app_of_chance(data_dir)
    app.indexer.index(
        [os.fspath(root)],
        options=IndexOptions(has_consent=True),
        listener=lambda _: None,
        stop_reason=lambda: None,
    )
    if not app.status.summary().n_files:
        sys.exit(f"no file of {root} may be indexed; dirindex index {root} --dry-run --verbose tells why")
    return app


class EmbedderOfChance:
    """Gives vectors around a few centres, as texts about a few subjects have them, in the space of the real model."""

    space = EmbeddingSpace(provider="embedded", model="all-MiniLM-L6-v2", dimensions=DIMENSIONS)
    max_tokens = None
    batch_size = 2000
    concurrency = 1
    usage = EmbeddingUsage()

    def __init__(self) -> None:
        self._chance = np.random.default_rng(7)
        self._centres = self._chance.standard_normal((_N_CENTRES, DIMENSIONS), np.float32)

    def check(self) -> None:
        """Do nothing: chance is always there."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector for each text."""
        centres = self._centres[self._chance.integers(_N_CENTRES, size=len(texts))]
        rows = centres + self._chance.standard_normal((len(texts), DIMENSIONS), np.float32)
        vectors: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a vector."""
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector

    def close(self) -> None:
        """Do nothing."""
