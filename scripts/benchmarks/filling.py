"""Fills an index without a tree: `filling.py DATA_DIR N_CHUNKS` lets it grow to so many chunks, with vectors of chance.

What walks, reads and cuts files is left out, which is what takes a run longest. The stores are written as a run writes
them, through the same classes, so that a search finds what it would find after one.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import time
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
from benchmarks.corpus import (
    CHUNKS_PER_FILE,
    LINES_PER_CHUNK,
    N_PARTS,
    WORDS_PER_LINE,
    EmbedderOfChance,
    app_of_chance,
    make_index,
    vocabulary,
)

from directory_indexer.chunking.chunks import Chunk
from directory_indexer.core.files import SourceFile
from directory_indexer.core.ids import content_hash, new_chunk_id
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import FileFacts
from directory_indexer.parsing.outcomes import ParsedFile
from directory_indexer.storage.documents.file_writes import FileLocation, PlacedFile
from directory_indexer.storage.vectors import VectorPoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from directory_indexer.app import App

_FILES_AT_ONCE = 2000
_FILES_PER_DIRECTORY = 400
_TOKENS_PER_WORD = 2
_MERGED_AT_ONCE = 100_000


def main() -> None:
    data_dir, n_chunks = Path(sys.argv[1]), int(sys.argv[2])
    root = data_dir.with_name("filled")
    app = app_of_chance(data_dir)
    if not app.status.summary().n_files:
        app.close()
        root.mkdir(parents=True, exist_ok=True)
        (root / "about.txt").write_text("The other files of this directory were never written.", encoding="utf-8")
        app = make_index(data_dir, root)  # once: it would remove what is filled in
    while (n_before := app.status.summary().n_chunks) < n_chunks:
        _fill(app, root, first=n_before // CHUNKS_PER_FILE, n_files=-(-(n_chunks - n_before) // CHUNKS_PER_FILE))
    app.close()


def _fill(app: App, root: Path, *, first: int, n_files: int) -> None:
    """Put in as many files as are merged at once, and their vectors."""
    files = list(islice(_files(root, first), min(n_files, _MERGED_AT_ONCE // CHUNKS_PER_FILE)))
    with app.docstore.snapshot() as snapshot:
        [directory_id] = snapshot.directories.all().values()
    recipe = app.policies.fingerprint.recipe
    for start in range(0, len(files), _FILES_AT_ONCE):
        some = [PlacedFile(FileLocation(directory_id), file) for file in files[start : start + _FILES_AT_ONCE]]
        with app.docstore.transaction() as transaction:
            transaction.files.put_new(some, recipe=recipe)
    merger = app.vectorizer.merger
    state = merger.state()
    generation = merger.store_of(state.vector_set).merge(state.generation, deletes=(), upserts=_points(root, files))
    with closing(sqlite3.connect(app.docstore.path)) as database, database:
        database.execute("UPDATE chunks SET is_embedded = 1 WHERE is_embedded = 0")
    with app.docstore.transaction() as transaction:
        transaction.vectors.publish(merger.place, generation)
    merger.store_of(state.vector_set).discard_others(generation)
    app.docstore.upkeep.checkpoint(must_stop=lambda: False)


def _points(root: Path, files: Sequence[ParsedFile]) -> Iterator[VectorPoint]:
    """Yield vectors of chance, which do not wait in the database first."""
    embedder = EmbedderOfChance()
    for file in files:
        path = file.source.path
        parents = [parent for parent in Path(path).parents if parent.is_relative_to(root)]
        directories = tuple(FilePath(os.fspath(parent)) for parent in reversed(parents))
        vectors = embedder.embed_documents([chunk.text for chunk in file.chunks])
        for chunk, vector in zip(file.chunks, vectors, strict=True):
            yield VectorPoint(new_chunk_id(path, file.hash, chunk.ordinal), path, directories, vector.tobytes())


def _files(root: Path, first: int) -> Iterator[ParsedFile]:
    """Make files up, from a number on; the same number gives the same file."""
    words = np.array(vocabulary(random.Random(7)), dtype=object)
    weights = np.cumsum(1 / np.arange(1, len(words) + 1))
    now = time.time_ns()
    number = first
    while True:
        chance = np.random.default_rng(number)
        drawn = words[
            np.searchsorted(weights, chance.random((CHUNKS_PER_FILE, LINES_PER_CHUNK * WORDS_PER_LINE)) * weights[-1])
        ]
        directory = root / f"part{number % N_PARTS}" / f"topic{number // _FILES_PER_DIRECTORY}"
        yield _file(FilePath(os.fspath(directory / f"note{number}.txt")), drawn, now)
        number += 1


def _file(path: FilePath, drawn: np.ndarray, now: int) -> ParsedFile:
    chunks, start = [], 0
    for ordinal, some in enumerate(drawn.tolist()):
        lines = [" ".join(some[at : at + WORDS_PER_LINE]) for at in range(0, len(some), WORDS_PER_LINE)]
        text = "\n".join(lines) + "\n"
        line = ordinal * LINES_PER_CHUNK + 1
        chunks.append(
            Chunk(
                ordinal, text, _TOKENS_PER_WORD * len(some), start, start + len(text), line, line + LINES_PER_CHUNK - 1
            )
        )
        start += len(text)
    content = "".join(chunk.text for chunk in chunks).encode()
    return ParsedFile(
        SourceFile(path, len(content), now), content_hash(content), FileFacts("text"), tuple(chunks), seen_ns=now
    )


if __name__ == "__main__":
    main()
