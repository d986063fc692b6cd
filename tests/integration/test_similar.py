"""Files like a given one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from archives import zipped
from fakes import FakeEmbedder

from directory_indexer.core.errors import IndexMismatchError, UsageError
from directory_indexer.core.paths import file_path
from directory_indexer.search.similar import SimilarFiles

if TYPE_CHECKING:
    from pathlib import Path

    from indexes import Index


@pytest.fixture
def similar(index: Index) -> SimilarFiles:
    index.write("a.md", "Boil the carrots with ginger.")
    index.run()
    return SimilarFiles(
        docstore=index.docstore,
        nearest=index.nearest,
        embedder=lambda _: index.embedder,
        parse_policy=index.parse_policy._replace(extract=None),
    )


def test_a_message_that_is_not_indexed_is_compared_by_its_own_text(similar: SimilarFiles, tmp_path: Path) -> None:
    letter = tmp_path / "letter.eml"
    letter.write_bytes(b"Subject: Soup\nFrom: a@b.org\n\nBoil the carrots with ginger.\n")
    [hit] = similar.find(file_path(letter), within=(), limit=3).hits
    assert hit.path.endswith("a.md")


def test_a_vector_without_its_passage_is_left_out(index: Index, similar: SimilarFiles, tmp_path: Path) -> None:
    index.write("b.md", "Boil the carrots with thyme.")
    index.run()
    with closing(sqlite3.connect(index.docstore.path)) as connection, connection:
        connection.execute("UPDATE chunks SET id = -1 WHERE id = (SELECT max(id) FROM chunks)")
    letter = tmp_path / "letter.md"
    letter.write_text("Boil the carrots with thyme.", encoding="utf-8")
    assert [hit.path[-4:] for hit in similar.find(file_path(letter), within=(), limit=3).hits] == ["a.md"]


def test_an_archive_has_no_text_to_compare(similar: SimilarFiles, tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(zipped({"soup.md": "Boil the carrots."}))
    with pytest.raises(UsageError, match="no text to compare"):
        similar.find(file_path(archive), within=(), limit=3)


def test_a_model_that_makes_longer_vectors_than_before_is_an_error(index: Index, tmp_path: Path) -> None:
    index.write("a.md", "Boil the carrots with ginger.")
    index.run()
    other = tmp_path / "other.md"
    other.write_text("Serve the soup hot.", encoding="utf-8")
    longer = FakeEmbedder(index.embedder.dimensions + 1)
    similar = SimilarFiles(
        docstore=index.docstore,
        nearest=index.nearest,
        embedder=lambda _: longer,
        parse_policy=index.parse_policy,
    )
    with pytest.raises(IndexMismatchError, match="dimensions"):
        similar.find(file_path(other), within=(), limit=3)
