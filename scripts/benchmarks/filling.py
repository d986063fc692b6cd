"""Fills an index without a tree: `filling.py DATA_DIR N_CHUNKS` lets it grow to so many chunks, with vectors of chance.

What walks, reads and cuts files is left out, which is what takes a run longest. The stores are written as a run writes
them, through the same classes, so that a search finds what it would find after one.
"""

from __future__ import annotations

import os
import random
import sys
import time
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
    app_of_chance,
    make_index,
    vocabulary,
)

from directory_indexer.chunker.chunks import Chunk
from directory_indexer.docstore.arrivals import Arrival
from directory_indexer.docstore.file_rows import Place
from directory_indexer.extractors.document import FileFacts
from directory_indexer.files import SourceFile
from directory_indexer.ids import content_hash
from directory_indexer.parsing.outcomes import ParsedFile
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore.embedded import EmbeddedVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.app import App

_FILES_AT_ONCE = 2000
_FILES_PER_DIRECTORY = 400
_TOKENS_PER_WORD = 2
_BEFORE_A_MERGE = 100_000

EmbeddedVectorStore.merge_at = _BEFORE_A_MERGE


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
    app.vectorizer.merger.merge_all()
    app.close()


def _fill(app: App, root: Path, *, first: int, n_files: int) -> None:
    """Put in as many files as are embedded before a merge, and embed them."""
    files = _files(root, first)
    with app.docstore.snapshot() as snapshot:
        [directory_id] = snapshot.directories.all().values()
    recipe = app.policies.fingerprint.recipe
    left = min(n_files, _BEFORE_A_MERGE // CHUNKS_PER_FILE)
    while left > 0:
        some = list(islice(files, min(left, _FILES_AT_ONCE)))
        with app.docstore.transaction() as transaction:
            transaction.arrivals.put([Arrival(Place(directory_id), one) for one in some], recipe=recipe)
        left -= len(some)
    for _ in app.vectorizer.embed_pending():
        pass
    app.docstore.upkeep.checkpoint(must_stop=lambda: False)


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
