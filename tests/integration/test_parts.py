"""A search in a small part of an index looks between the rows of its chunks alone, and finds what it found without."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.files import FileFailure, Stage
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.ranking.query import parse_query
from directory_indexer.search import scope as scopes
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.file_writes import FileLocation
from directory_indexer.storage.documents.words import Words

if TYPE_CHECKING:
    from pathlib import Path

    from indexes import Index


@pytest.fixture
def part(index: Index) -> FilePath:
    """Index forty files, two of them in a directory of their own; the first of those is indexed again at the end."""
    for number in range(40):
        index.write(
            f"{'part' if number in {20, 21} else 'rest'}/note{number}.md", f"apples and pears, number {number}\n"
        )
    index.run()
    index.write("part/note20.md", "apples once more, and plums\n")
    index.write("part/late.md", "pears that came late, and apples\n")
    index.run()
    return FilePath(os.fspath(index.root / "part"))


@pytest.mark.parametrize("mode", [SearchMode.KEYWORD, SearchMode.HYBRID])
def test_the_same_is_found_in_a_part_with_and_without_its_rows(
    index: Index, part: FilePath, mode: SearchMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_rows = [index.search(query, mode=mode, scope=(part,)) for query in ("apples", "pears plums", "number")]
    monkeypatch.setattr(scopes, "_SMALL_SHARE", -1)
    everywhere = [index.search(query, mode=mode, scope=(part,)) for query in ("apples", "pears plums", "number")]
    assert by_rows == everywhere
    assert {os.path.basename(hit.path) for hit in by_rows[0]} == {"note20.md", "note21.md", "late.md"}


def test_the_rows_of_a_part_are_those_of_its_chunks(index: Index, part: FilePath) -> None:
    with index.docstore.snapshot() as snapshot:
        resolved = scopes.resolve_scope(snapshot, index.request("apples", scope=(part,)), parse_query("apples"))
        paths = [FilePath(os.path.join(part, name)) for name in os.listdir(os.fspath(part))]
        rows = sorted(chunk.id for path in paths for chunk in snapshot.chunks.of_file(path))
    assert resolved.rows == (rows[0], rows[-1])


def test_a_search_in_one_of_two_directories_answers_from_that_one_alone(index: Index, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("apples of the other directory\n", encoding="utf-8")
    index.write("a.md", "apples of this directory\n")
    index.run(index.root, other)
    for mode in SearchMode:
        hits = index.search("apples", mode=mode, scope=(file_path(other),))
        assert [hit.path for hit in hits] == [file_path(other / "b.md")]
        both = index.search("apples", mode=mode, scope=(file_path(other), file_path(index.root)))
        assert len(both) == 2


@pytest.mark.parametrize("n_files", [300])
def test_a_search_above_a_large_directory_finds_by_meaning_what_is_in_it(index: Index, n_files: int) -> None:
    """More files than are named to the vector store one by one."""
    for number in range(n_files):
        index.write(f"{number}.md", f"pear{number}\n")
    index.write("wanted.md", "harbour boats\n")
    index.run()
    above = file_path(index.root.parent)
    hits = index.search("harbour boats", mode=SearchMode.SEMANTIC, scope=(above,), limit=1)
    assert [hit.path for hit in hits] == [file_path(index.root / "wanted.md")]


def test_the_vector_store_is_asked_for_tracked_directories_or_what_lies_in_one(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a directory above them it knows nothing; with one of them, the others are not meant."""
    monkeypatch.setattr(scopes, "MAX_FILES_IN_VECTOR_FILTER", -1)
    other, third = tmp_path / "other", tmp_path / "elsewhere/third"
    for number, root in enumerate((other, third, index.root / "sub")):
        root.mkdir(parents=True)
        (root / f"{number}.md").write_text("apples\n", encoding="utf-8")
    index.run(index.root, other, third)
    ours, theirs = file_path(index.root), file_path(other)
    inside, above = file_path(index.root / "sub"), file_path(third.parent)
    asked = {
        (ours,): {ours},
        (inside,): {inside},
        (above,): {file_path(third)},
        (ours, theirs): {ours, theirs},
    }
    with index.docstore.snapshot() as snapshot:
        for scope, expected in asked.items():
            resolved = scopes.resolve_scope(snapshot, index.request("apples", scope=scope), parse_query("apples"))
            assert set(resolved.vectors.directories) == expected


def test_a_type_that_only_the_index_knows_is_looked_for_as_it_stands(index: Index) -> None:
    """A command of the configuration may have read such files, and be gone from it now."""
    index.write("a.md", "apples\n")
    index.write("b.md", "apples\n")
    index.run()
    with contextlib.closing(sqlite3.connect(index.docstore.path)) as connection:
        connection.execute("UPDATE files SET kind = 'drawing' WHERE path LIKE '%a.md'")
        connection.commit()
    assert index.names("apples type:drawing", mode=SearchMode.KEYWORD) == ["a.md"]


def test_a_scope_counts_the_files_that_have_text(index: Index) -> None:
    index.write("part/a.md", "apples\n")
    (index.root / "part/b.bin").write_bytes(b"\0\1\2" * 50)
    index.write("rest/c.md", "apples\n")
    index.run()
    part = file_path(index.root / "part")
    with index.docstore.snapshot() as snapshot:
        resolved = scopes.resolve_scope(snapshot, index.request("apples", scope=(part,)), parse_query("apples"))
        assert resolved.file_ids is not None
        assert len(resolved.file_ids) == 1


def test_a_file_that_failed_is_found_by_its_text_of_before(index: Index) -> None:
    path = file_path(index.write("part/a.md", "apples\n"))
    index.write("rest/b.md", "apples\n")
    index.run()
    with index.docstore.transaction() as transaction:
        directory_id = transaction.directories.add(file_path(index.root))
        transaction.files.put_failure(
            FileLocation(directory_id), FileFailure(path, Stage.READ, "not readable any more"), recipe=1
        )
    found = index.search("apples", mode=SearchMode.KEYWORD, scope=(file_path(index.root / "part"),))
    assert [hit.path for hit in found] == [path]


def test_an_answer_tells_of_the_moment_that_it_was_drawn_from(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is indexed after the words were looked up is in neither the hits nor the summary."""
    index.write("a.md", "apples\n")
    index.run()
    ranked = Words.ranked

    def ranked_before_a_run(words: Words, *arguments: object, **options: object) -> object:
        found = ranked(words, *arguments, **options)  # type: ignore[arg-type]
        monkeypatch.setattr(Words, "ranked", ranked)
        index.write("b.md", "apples and more\n")
        index.run()
        return found

    monkeypatch.setattr(Words, "ranked", ranked_before_a_run)
    result = index.searcher.search(index.request("apples", mode=SearchMode.KEYWORD))
    assert (len(result.hits), result.summary.n_files) == (1, 1)
    later = index.searcher.search(index.request("apples", mode=SearchMode.KEYWORD))
    assert (len(later.hits), later.summary.n_files) == (2, 2)
    assert result.state != later.state
