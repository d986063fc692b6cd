"""What is put in many files at a time is what would be put in file by file, in far fewer statements."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

import pytest
from trees import plant

from directory_indexer.core.files import FileFailure, PageKey, Scan, SourceFile, Stage
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import Metadata
from directory_indexer.parsing.one_file import parse
from directory_indexer.parsing.outcomes import ParsedFile, ParseRequest, UnchangedFile
from directory_indexer.storage.databases import ConnectionPool
from directory_indexer.storage.documents.file_writes import FileLocation, LocatedFile
from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from indexes import Index

    from directory_indexer.storage.documents.store import Transaction

TABLES = ("files", "chunks", "chunk_texts", "metadata", "scans", "chunks_vocab", "settled_directories")
N_FILES = 20


@pytest.fixture
def parsed(index: Index) -> list[ParsedFile]:
    """Files with one chunk, with several and with none, with pages, with metadata, and with the same bytes."""
    long = "\n\n".join(f"# Part {number}\n\n{'The walrus sleeps. ' * 30}" for number in range(4))
    texts = {f"docs/f{number}.md": f"# Title {number}\n\nThe walrus{number} sleeps.\n" for number in range(N_FILES)}
    plant(
        index.root, {**texts, "long.md": long, "a/same.txt": "equal\n", "b/same.txt": "equal\n", "camel.py": "fooBar\n"}
    )
    paths = sorted(path for path in index.root.rglob("*") if path.is_file())
    read = [parse(ParseRequest(SourceFile(file_path(path), 0, 0), None), index.parse_policy) for path in paths]
    first, second, third, *rest = [one for one in read if isinstance(one, ParsedFile)]
    return [
        first._replace(metadata=Metadata(authors=("Ada", "Ben"), modified="2026-01-31", tags=("x",))),
        second._replace(chunks=(), page_starts=(0, 9)),
        third._replace(scans=(Scan(1, PageKey(b"k" * 16)),)),
        *rest,
    ]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is begun from here on."""
    begun: list[str] = []
    opened = ConnectionPool.open

    def traced(connections: ConnectionPool) -> sqlite3.Connection:
        connection = opened(connections)
        connection.set_trace_callback(begun.append)
        return connection

    monkeypatch.setattr(ConnectionPool, "open", traced)
    return begun


@contextlib.contextmanager
def writing(path: Path, *roots: str) -> Iterator[tuple[Transaction, list[FileLocation]]]:
    docstore = DocStore(path)
    with docstore.transaction() as transaction:
        transaction.meta.set("index_id", "the same")
        yield transaction, [FileLocation(transaction.directories.add(file_path(root))) for root in roots]
    docstore.close()


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}  # noqa: S608


def test_many_files_become_the_rows_that_they_become_one_by_one(index: Index, parsed: list[ParsedFile]) -> None:
    together, apart = index.data_dir / "together.db", index.data_dir / "apart.db"
    with writing(together, str(index.root)) as (transaction, [place]):
        assert transaction.files.insert_new([LocatedFile(place, one) for one in parsed], recipe=3) == {
            one.source.path for one in parsed
        }
    with writing(apart, str(index.root)) as (transaction, [place]):
        for one in parsed:
            transaction.files.put(place, one, recipe=3)
    assert rows(together) == rows(apart)


def test_what_is_known_already_or_may_be_shared_is_left_to_be_put_in_by_itself(
    index: Index, parsed: list[ParsedFile]
) -> None:
    known, skipped, *others = (one.source.path for one in parsed)
    with writing(index.data_dir / "a.db", str(index.root), "/clone") as (transaction, [place, clone]):
        transaction.files.put_failure(place, FileFailure(known, Stage.READ, "no permission"), recipe=1)
        there = file_path("/clone" + skipped.removeprefix(str(index.root)))
        transaction.files.put(clone, parsed[1]._replace(source=SourceFile(there, 1, 1)), recipe=3)
        arrivals = [LocatedFile(place, one) for one in parsed]
        assert transaction.files.insert_new(arrivals, recipe=3) == set(others)


def test_a_file_where_a_container_may_have_a_member_is_put_in_by_itself(index: Index, parsed: list[ParsedFile]) -> None:
    source = SourceFile(file_path(index.root / "a.zip!/b.md"), 1, 1)
    with writing(index.data_dir / "a.db", str(index.root)) as (transaction, [place]):
        member = transaction.files.location_in_container(file_path(index.root / "a.zip"), place.directory_id)
        one = parsed[0]._replace(source=source)
        assert transaction.files.insert_new([LocatedFile(place, one)], recipe=3) == set()
        assert transaction.files.insert_new([LocatedFile(member, one)], recipe=3) == {source.path}


def test_files_of_a_clone_take_the_texts_that_are_there_already(index: Index, parsed: list[ParsedFile]) -> None:
    path = index.data_dir / "a.db"
    with writing(path, str(index.root), "/clone") as (transaction, [place, clone]):
        transaction.files.insert_new([LocatedFile(place, one) for one in parsed if not one.scans], recipe=3)
        found = [
            UnchangedFile(
                SourceFile(file_path("/clone" + one.source.path.removeprefix(str(index.root))), 1, 1), one.hash
            )
            for one in parsed
        ]
        shared = transaction.files.insert_sharing(clone, found, recipe=3, unless=lambda path: path.endswith("long.md"))
        left = {one.source.path for one in found} - shared.keys()
        assert {one.rsplit("/", 1)[1] for one in left} == {"long.md", parsed[2].source.path.rsplit("/", 1)[1]}
        rest = [one for one in found if one.source.path in left]
        assert transaction.files.insert_sharing(clone, rest, recipe=3, unless=lambda _: False).keys() == {
            one for one in left if one.endswith("long.md")
        }
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (n_metadata,) = connection.execute("SELECT count(*) FROM metadata WHERE name = 'author'").fetchone()
        (n_chunks,) = connection.execute("SELECT count(DISTINCT file_id) FROM chunks").fetchone()
    assert (n_metadata, n_chunks) == (4, len(parsed) - 2)


def test_a_first_run_asks_the_index_nothing_file_by_file(index: Index, statements: list[str]) -> None:
    for number in range(N_FILES):
        index.write(f"f{number}.md", f"The walrus{number} sleeps.\n")
    index.docstore.close()
    index.run()
    asked = [one for one in statements if one.startswith(("SELECT", "DELETE", "UPDATE")) and "files" in one]
    assert len(asked) < N_FILES
