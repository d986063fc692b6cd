"""Vectors and the chunks that they belong to, where both change between merges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fakes import FakeEmbedder
from indexes import Index

from directory_indexer.chunking.chunks import Chunk, embedding_text
from directory_indexer.core.files import source_file
from directory_indexer.core.ids import content_hash
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts
from directory_indexer.parsing.outcomes import ParsedFile
from directory_indexer.storage.documents.file_writes import FileLocation

if TYPE_CHECKING:
    from pathlib import Path


def test_a_place_that_another_text_has_taken_gives_no_vector_to_the_text_that_was_there(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    index = Index(root=root, data_dir=tmp_path / "data", embedder=FakeEmbedder(4096, batch_size=2))
    path = file_path(index.write("a.md", "whatever"))
    with index.docstore.transaction() as transaction:
        directory_id = transaction.directories.add(file_path(root))

    def cut(*texts: str) -> None:
        chunks = tuple(Chunk(number, text, 1, number, number + 1, 1, 1) for number, text in enumerate(texts))
        parsed = ParsedFile(source_file(path), content_hash(b"whatever"), FileFacts("markdown"), chunks)
        with index.docstore.transaction() as transaction:
            transaction.files.put(FileLocation(directory_id), parsed, recipe=1)

    cut("apple", "pear")
    list(index.vectorizer.embed_waiting())
    index.vectorizer.merger.merge_all()
    cut("ap", "ple", "pear")
    index.embedder.embedded.clear()
    list(index.vectorizer.embed_waiting(must_stop=lambda: bool(index.embedder.embedded)))
    index.vectorizer.merger.merge_all()
    list(index.vectorizer.embed_waiting())
    index.vectorizer.merger.merge_all()

    with index.docstore.snapshot() as snapshot:
        chunks = snapshot.chunks.of_file(path)
        vectors = index.nearest.vectors(snapshot, [chunk.chunk_id for chunk in chunks])
        generation, n_vectors = (
            snapshot.vector_sets.generation(index.vectorizer.merger.place),
            snapshot.vectors.count_stored(),
        )
    for chunk in chunks:
        wanted = index.embedder.embed_query(embedding_text(chunk.chunk, path))
        assert vectors[chunk.chunk_id] @ wanted == pytest.approx(1, abs=0.01)
    index.vectorstore.require_complete(generation, n_vectors=n_vectors)
    index.close()
