"""Texts lie packed in the database; those that an older version wrote are read as they are, and packed by a run."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from indexes import Index

from directory_indexer.core.errors import CorruptIndexError
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.documents.words import decompress_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

N_FILES = 12


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    root = tmp_path / "docs"
    root.mkdir()
    index = Index(root=root, data_dir=tmp_path / "data")
    for number in range(N_FILES):
        index.write(f"note{number}.md", f"Größe 東京 of subject{number}\n" * 40)
    index.run()
    yield index
    index.close()


@pytest.fixture
def older(index: Index) -> Index:
    """The index as schema 3 had it."""
    index.docstore.close()
    connection = sqlite3.connect(index.docstore.path)
    connection.create_function("unpacked", 1, decompress_text)
    connection.executescript(
        """DROP INDEX files_by_parent; DROP TABLE settled_directories;
           UPDATE chunk_texts SET text = unpacked(text); PRAGMA user_version = 3;"""
    )
    connection.close()
    index.docstore = DocStore(index.docstore.path)
    return index


def _kinds(index: Index) -> set[str]:
    connection = sqlite3.connect(index.docstore.path)
    kinds = {row[0] for row in connection.execute("SELECT DISTINCT typeof(text) FROM chunk_texts")}
    connection.close()
    return kinds


def test_an_older_index_answers_as_it_is(older: Index) -> None:
    assert _kinds(older) == {"text"}
    best = older.search("subject7")[0]
    assert best.path.endswith("note7.md")
    assert best.text.startswith("Größe 東京 of subject7\n")


def test_a_run_packs_the_texts_of_an_older_index_and_reads_no_file_again(older: Index) -> None:
    before = older.contents()
    report = Index(root=older.root, data_dir=older.data_dir, embedder=older.embedder).run()
    assert report.n_unchanged == N_FILES
    assert _kinds(older) == {"blob"}
    assert older.contents() == before


def test_packing_goes_on_where_it_was_killed(older: Index) -> None:
    before = older.contents()
    with older.docstore.transaction() as transaction:
        assert transaction.chunks.compress_old_texts(5)
    assert _kinds(older) == {"blob", "text"}
    assert older.contents() == before
    (older.root / "note11.md").unlink()
    older.write("note12.md", "written in between\n")
    older.run()
    assert _kinds(older) == {"blob"}
    before.pop("/note11.md")
    assert {path: older.contents()[path] for path in before if path != "words"} == {
        path: content for path, content in before.items() if path != "words"
    }


def test_a_run_that_is_told_to_stop_leaves_the_packing_to_the_next_one(older: Index) -> None:
    report = older.run(stop_reason=lambda: Outcome.INTERRUPTED)
    assert report.outcome is Outcome.INTERRUPTED
    assert _kinds(older) == {"text"}
    older.run()
    assert _kinds(older) == {"blob"}


def test_words_of_packed_and_of_plain_texts_leave_the_index_with_their_file(older: Index) -> None:
    with older.docstore.transaction() as transaction:
        transaction.chunks.compress_old_texts(5)
    older.indexer.forget(str(older.root))
    with older.docstore.snapshot() as snapshot:
        assert snapshot.words.counts(["subject1", "subject11", "of"]) == {}


def test_a_changed_byte_in_a_text_is_said_to_be_damage(index: Index) -> None:
    index.docstore.close()
    connection = sqlite3.connect(index.docstore.path)
    text = bytearray(connection.execute("SELECT text FROM chunk_texts WHERE id = 3").fetchone()[0])
    text[len(text) // 2] ^= 1
    connection.execute("UPDATE chunk_texts SET text = ? WHERE id = 3", (bytes(text),))
    connection.commit()
    connection.close()
    with pytest.raises(CorruptIndexError, match="text in it is damaged"):
        index.docstore.maintenance.require_integrity()
