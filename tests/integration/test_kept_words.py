"""Words that are kept beside the index hide no chunk: what they do not know lies in the chunks behind their end."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from directory_indexer.storage.documents.line_ranges import ChunkPrefilter
from directory_indexer.storage.documents.words import VOCABULARY_SUFFIX, CachedVocabulary, cached_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from indexes import Index

NOWHERE = '{text} : "nowhereatall"'


@pytest.fixture
def filled(index: Index) -> Index:
    for number in range(30):
        index.write(f"{number}.md", f"# Number {number}\n\nThe common{number}word stands here.\n")
    index.run()
    return index


@contextlib.contextmanager
def opened(index: Index) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(index.docstore.path)) as connection:
        yield connection


def kept(connection: sqlite3.Connection, *, most_new: int = 1000, fingerprint: str = "one") -> CachedVocabulary:
    (n_chunks,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
    return cached_vocabulary(connection, fingerprint=fingerprint, n_chunks=n_chunks, most_new=most_new)


def file_of(index: Index) -> Path:
    return index.docstore.path.with_name(index.docstore.path.name + VOCABULARY_SUFFIX)


def require_nothing_hidden(connection: sqlite3.Connection) -> CachedVocabulary:
    words = kept(connection)
    known = {line.rpartition("\t")[0] for line in words.lines.decode().split("\n")}
    live = {word for (word,) in connection.execute("SELECT term FROM chunks_vocab")}
    for word in live - known:
        rows = connection.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (f'"{word}"',)).fetchall()
        assert all(row > words.last_row for (row,) in rows), word
    return words


def test_whatever_is_written_no_chunk_is_hidden(filled: Index) -> None:
    chance = random.Random(3)  # noqa: S311 - nothing secret
    was_kept = 0
    with opened(filled) as connection:
        require_nothing_hidden(connection)
    for number in range(40):
        # What came last is what changes most, so that rows are given out again.
        name = f"{chance.choice([*range(30), 29, 29, 29, 29])}.md"
        if chance.random() < 1 / 4:
            (filled.root / name).unlink(missing_ok=True)
        else:
            lines = "\n\n".join(f"# Part {part}\n\nnew{number}part{part}" for part in range(chance.randrange(1, 4)))
            filled.write(name, f"{lines}\n")
        filled.run()
        before = file_of(filled).stat().st_ino
        with opened(filled) as connection:
            require_nothing_hidden(connection)
        was_kept += before == file_of(filled).stat().st_ino
    assert was_kept > 20


def test_words_are_found_by_their_parts_and_ends(filled: Index) -> None:
    with opened(filled) as connection:
        words = kept(connection)
    assert words.containing("mon7wo", ends=False, limit=9) == [("common7word", 1)]
    assert words.containing("7word", ends=True, limit=9) == [(f"common{n}word", 1) for n in (17, 27, 7)]
    assert words.containing("common7", ends=True, limit=9) == []
    assert len(words.containing("word", ends=True, limit=4)) == 4


@pytest.mark.parametrize("spoilt", [b"", b"nonsense", b"[]\n", b'["one"]\nabc', b'["one", 1, 99, [1, "00"]]\nabc\t1\n'])
def test_a_file_that_is_not_of_this_index_is_made_again(filled: Index, spoilt: bytes) -> None:
    file_of(filled).write_bytes(spoilt)
    with opened(filled) as connection:
        assert kept(connection).containing("common7word", ends=False, limit=9)
    assert file_of(filled).read_bytes() != spoilt


def test_other_words_or_too_many_new_chunks_have_it_made_again(filled: Index) -> None:
    with opened(filled) as connection:
        first = kept(connection)
    filled.write("new.md", "Brandnewword.\n")
    filled.run()
    with opened(filled) as connection:
        assert kept(connection).containing("brandnew", ends=False, limit=9) == []
        assert kept(connection).last_row == first.last_row
        assert kept(connection, most_new=0).containing("brandnew", ends=False, limit=9) == [("brandnewword", 1)]
        assert kept(connection, fingerprint="two").last_row > first.last_row


def test_chunks_behind_the_known_words_may_hold_anything(filled: Index) -> None:
    with filled.docstore.snapshot() as snapshot:
        last = max(found.file_id for found in snapshot.line_ranges.candidates(ChunkPrefilter(NOWHERE, NOWHERE, 0)))
        assert len(snapshot.line_ranges.candidates(ChunkPrefilter(NOWHERE, NOWHERE, 0))) == 30
        found = snapshot.line_ranges.candidates(ChunkPrefilter(NOWHERE, NOWHERE, 29))
        assert [line_range.file_id for line_range in found] == [last]
        assert snapshot.line_ranges.candidates(ChunkPrefilter(NOWHERE, NOWHERE)) == []


def test_what_is_forgotten_is_in_no_file(filled: Index) -> None:
    with opened(filled) as connection:
        kept(connection)
    left = file_of(filled).with_name(f"{file_of(filled).name}.123")
    left.write_text("common7word")
    filled.indexer.forget(str(filled.root))
    assert not file_of(filled).exists()
    assert not left.exists()


def test_a_question_from_before_a_forgetting_keeps_no_words(filled: Index) -> None:
    with opened(filled) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM chunks").fetchone()
        filled.indexer.forget(str(filled.root))
        assert kept(connection).containing("common7word", ends=False, limit=9)
    assert not file_of(filled).exists()


def test_a_file_that_was_cut_off_is_made_again(filled: Index) -> None:
    with opened(filled) as connection:
        whole = kept(connection)
        file_of(filled).write_bytes(file_of(filled).read_bytes()[:-20])
        assert kept(connection) == whole


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_pipe_in_its_place_is_not_waited_for(filled: Index) -> None:
    os.mkfifo(file_of(filled))
    with opened(filled) as connection:
        assert kept(connection).containing("common7word", ends=False, limit=9)
    assert file_of(filled).is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links")
def test_the_file_is_private_and_behind_no_link(filled: Index, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"mine")
    file_of(filled).symlink_to(elsewhere)
    with opened(filled) as connection:
        kept(connection)
    assert elsewhere.read_bytes() == b"mine"
    assert stat.S_IMODE(file_of(filled).lstat().st_mode) == 0o600
    assert not list(file_of(filled).parent.glob(f"*{VOCABULARY_SUFFIX}.*"))


def test_no_row_is_given_twice(filled: Index) -> None:
    with opened(filled) as connection:
        (last, path), *_ = connection.execute(
            "SELECT c.id, f.path FROM chunks c JOIN files f ON f.id = c.file_id ORDER BY c.id DESC LIMIT 1"
        ).fetchall()
    filled.write(path.removeprefix(f"{filled.root}/"), "Something else.\n")
    filled.run()
    with opened(filled) as connection:
        assert connection.execute("SELECT max(id) FROM chunks").fetchone()[0] > last


def test_every_index_has_an_id_by_which_its_words_are_known(filled: Index) -> None:
    with filled.docstore.snapshot() as snapshot:
        assert snapshot.meta.get("index_id")
