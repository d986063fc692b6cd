"""Passages enter the full-text index with the words of their path below the tracked directory."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.paths import FilePath
from directory_indexer.storage.databases.stored_values import DamagedValueError
from directory_indexer.storage.documents.schema import FTS_TABLE
from directory_indexer.storage.documents.words import FtsSource, WordWrites

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:")) as opened:
        opened.execute(FTS_TABLE)
        yield opened


def add(connection: sqlite3.Connection, path: str, directory: str) -> None:
    WordWrites(connection).add([FtsSource(1, "text", "", "", FilePath(path), FilePath(directory))])


@pytest.mark.parametrize(
    ("path", "directory"),
    [("/a/notes.md", "/a"), ("/notes.md", "/"), ("/a", "/a"), ("C:\\a\\notes.md", "C:\\a"), ("C:\\notes.md", "C:\\")],
)
def test_a_path_below_its_directory_is_indexed_whatever_system_it_is_of(
    connection: sqlite3.Connection, path: str, directory: str
) -> None:
    add(connection, path, directory)
    assert connection.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'text'").fetchall() == [(1,)]


@pytest.mark.parametrize(("path", "directory"), [("/b/notes.md", "/a"), ("/ab/notes.md", "/a"), ("D:\\x.md", "C:\\")])
def test_a_path_outside_its_directory_is_damage(connection: sqlite3.Connection, path: str, directory: str) -> None:
    with pytest.raises(DamagedValueError):
        add(connection, path, directory)
