"""Clones and work trees: what they have in common is kept once, and each of them is a directory like any other."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

import pytest
from fakes import FakeEmbedder
from indexes import Index

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.ids import content_hash
from directory_indexer.core.notes import Verdict
from directory_indexer.core.paths import file_path
from directory_indexer.formats.extraction import extract
from directory_indexer.indexing.merging import Merger
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.matching import PatternOptions
from directory_indexer.search.grep import GrepRequest, grep
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.files import ALL_FILES
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.documents.shared_texts import SharedTextWrites
from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from directory_indexer.core.paths import FilePath
    from directory_indexer.formats.document import Document

N_FILES = 12


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An index of a repository and its clone."""
    index = Index(root=tmp_path, data_dir=tmp_path / "data")
    for number in range(N_FILES):
        index.write(f"main/docs/f{number}.md", f"# Part {number}\n\nThe walrus{number} sleeps.\n")
    index.run(tmp_path / "main")
    copy(index, "fix")
    yield index
    index.close()


def copy(index: Index, name: str) -> None:
    for path in (index.root / "main").rglob("*.md"):
        index.write(f"{name}/{path.relative_to(index.root / 'main')}", path.read_text(encoding="utf-8"))


def count(index: Index, query: str) -> int:
    connection = sqlite3.connect(index.docstore.path)
    try:
        return int(connection.execute(query).fetchone()[0])
    finally:
        connection.close()


def found(index: Index, query: str, *, within: str = "", mode: SearchMode = SearchMode.HYBRID) -> list[tuple[str, ...]]:
    """Name the files of the best hit, the one that is shown first."""
    scope = (file_path(index.root / within),) if within else ()
    hits = [hit for hit in index.search(query, mode=mode, scope=scope) if query in hit.text]
    return [tuple(one.removeprefix(f"{index.root}/") for one in (hit.path, *hit.also_in)) for hit in hits]


def lines(index: Index, pattern: str, *, within: str = "") -> list[str]:
    scope = (file_path(index.root / within),) if within else ()
    with index.docstore.snapshot() as snapshot:
        found = grep(snapshot, GrepRequest(PatternOptions((pattern,)), scope))
        return [one.path.removeprefix(f"{index.root}/") for one in found.files]


def require_both(index: Index, word: str, name: str) -> None:
    """Look for a word wherever a file can be found, in the whole index and in either directory alone."""
    for mode in SearchMode:
        assert found(index, word, mode=mode) == [(f"fix/docs/{name}", f"main/docs/{name}")]
        for tree in ("main", "fix"):
            assert found(index, word, mode=mode, within=tree) == [(f"{tree}/docs/{name}",)]
            assert found(index, word, mode=mode, within=f"{tree}/docs") == [(f"{tree}/docs/{name}",)]
    assert lines(index, word) == [f"fix/docs/{name}", f"main/docs/{name}"]
    assert lines(index, word, within="fix") == [f"fix/docs/{name}"]


def test_nothing_of_a_clone_is_written_again_and_it_is_found_by_words_and_meaning(index: Index) -> None:
    n_chunks = count(index, "SELECT count(*) FROM chunks")
    report = index.run(index.root / "fix")
    assert (report.n_added, report.n_embedded, report.n_reused, report.n_chunks) == (N_FILES, 0, 0, n_chunks)
    assert count(index, "SELECT count(*) FROM chunks") == n_chunks
    require_both(index, "walrus7", "f7.md")
    assert index.run(index.root / "fix").n_unchanged == N_FILES


def test_two_clones_that_are_read_in_one_run_share_their_texts_too(tmp_path: Path) -> None:
    index = Index(root=tmp_path, data_dir=tmp_path / "data")
    for tree in ("main", "fix"):
        for number in range(3):
            index.write(f"{tree}/docs/f{number}.md", f"The walrus{number} sleeps.\n")
    index.run(tmp_path / "main", tmp_path / "fix")
    assert count(index, "SELECT count(*) FROM chunks") == 3
    require_both(index, "walrus1", "f1.md")
    index.close()


@pytest.mark.parametrize("near", ["main", "fix"])
def test_a_shared_text_is_shown_in_the_clone_around_the_working_directory(index: Index, near: str) -> None:
    index.run(index.root / "fix")
    other = "fix" if near == "main" else "main"
    for mode in SearchMode:
        (hit, *_) = index.search("walrus7", mode=mode, near=file_path(index.root / near / "elsewhere"))
        assert str(hit.path) == f"{index.root}/{near}/docs/f7.md"
        assert list(hit.also_in) == [f"{index.root}/{other}/docs/f7.md"]


@pytest.mark.parametrize("leaving", ["main", "fix"])
def test_what_one_of_two_loses_the_other_one_keeps(index: Index, leaving: str) -> None:
    staying = "fix" if leaving == "main" else "main"
    index.run(index.root / "fix")
    index.vectorizer.merger.merge_all()
    index.write(f"{leaving}/docs/f3.md", "# Changed\n\nA penguin dives.\n")
    (index.root / leaving / "docs/f4.md").unlink()
    report = index.run(index.root / leaving)
    assert (report.n_changed, report.n_removed, report.n_embedded) == (1, 1, 1)
    for word, name in (("walrus3", "f3.md"), ("walrus4", "f4.md")):
        for mode in SearchMode:
            expected = [(f"{staying}/docs/{name}",)]
            assert found(index, word, mode=mode) == found(index, word, mode=mode, within=staying) == expected
            assert found(index, word, mode=mode, within=leaving) == []
        assert lines(index, word) == [f"{staying}/docs/{name}"]
    require_both(index, "walrus5", "f5.md")
    assert found(index, "penguin", within=staying) == []


def test_a_file_that_comes_back_shares_what_went_to_the_other_one(index: Index) -> None:
    index.run(index.root / "fix")
    index.vectorizer.merger.merge_all()
    path = index.root / "main/docs/f3.md"
    text = path.read_text(encoding="utf-8")
    index.write("main/docs/f3.md", "A penguin dives.\n")
    index.run(index.root / "main")
    index.write("main/docs/f3.md", text)
    assert index.run(index.root / "main").n_embedded == 0
    assert count(index, "SELECT count(*) FROM chunks") == N_FILES
    require_both(index, "walrus3", "f3.md")


def test_ids_are_not_given_twice_when_both_are_read_in_another_way(index: Index) -> None:
    index.run(index.root / "fix")
    index.fingerprint = index.fingerprint._replace(extraction="2")
    report = index.run(index.root / "main", options=IndexOptions(wait=False, has_consent=True))
    assert report.n_changed == N_FILES
    index.run(index.root / "fix", options=IndexOptions(wait=False, has_consent=True))
    assert count(index, "SELECT count(*) FROM chunks") == N_FILES
    require_both(index, "walrus3", "f3.md")


def test_all_files_are_read_again_when_that_is_asked_for(index: Index) -> None:
    index.run(index.root / "fix")
    report = index.run(index.root / "main", index.root / "fix", options=IndexOptions(wait=False, read_everything=True))
    assert (report.n_changed, report.n_embedded) == (2 * N_FILES, 0)
    assert count(index, "SELECT count(*) FROM chunks") == N_FILES
    require_both(index, "walrus3", "f3.md")


def test_a_forgotten_directory_leaves_its_clone_whole_and_no_trace_of_itself(index: Index) -> None:
    index.run(index.root / "fix")
    index.vectorizer.merger.merge_all()
    assert index.indexer.forget(str(index.root / "main")) == N_FILES
    for mode in SearchMode:
        assert found(index, "walrus3", mode=mode) == found(index, "walrus3", mode=mode, within="fix/docs")
        assert found(index, "walrus3", mode=mode) == [("fix/docs/f3.md",)]
    trace = str(index.root / "main").encode()
    index.docstore.close()
    assert not [path for path in index.data_dir.rglob("*") if path.is_file() and trace in path.read_bytes()]


def test_files_at_another_place_are_kept_apart(index: Index) -> None:
    index.write("other/papers/f3.md", (index.root / "main/docs/f3.md").read_text(encoding="utf-8"))
    report = index.run(index.root / "other")
    assert (report.n_added, report.n_embedded) == (1, 0)
    assert count(index, "SELECT count(*) FROM files WHERE holder_id IS NOT NULL") == 0
    assert found(index, "walrus3", within="other") == [("other/papers/f3.md",)]


def ids_in(index: Index, tree: str) -> set[bytes]:
    scope = (file_path(index.root / tree),)
    return {hit.chunk_id for hit in index.search("", kinds=("markdown",), scope=scope, limit=50)}


def test_the_passages_of_each_file_keep_ids_of_their_own(index: Index) -> None:
    before = ids_in(index, "main")
    index.run(index.root / "fix")
    of_clone = ids_in(index, "fix")
    assert len(before) == len(of_clone) == N_FILES
    assert len(index.search("", kinds=("markdown",), limit=50)) == 2 * N_FILES
    index.indexer.forget(str(index.root / "main"))
    assert of_clone == ids_in(index, "fix")
    assert not before & of_clone


def test_an_index_of_before_learns_of_clones(index: Index) -> None:
    index.docstore.close()
    connection = sqlite3.connect(index.docstore.path)
    connection.executescript(
        """DROP INDEX files_that_share; DROP INDEX files_tagged_elsewhere; ALTER TABLE files DROP COLUMN holder_id;
           ALTER TABLE files DROP COLUMN tagged_below; PRAGMA user_version = 14;"""
    )
    connection.close()
    DocStore(index.docstore.path).close()
    older = Index(root=index.root, data_dir=index.data_dir)
    assert older.run(older.root / "fix").n_embedded == 0
    assert count(older, "SELECT count(*) FROM chunks") == N_FILES
    require_both(older, "walrus7", "f7.md")
    older.close()


def breaking(content: bytes, path: FilePath) -> Document:
    if b"BREAK" in content:
        raise ExtractionError("broken")
    return extract(content, path)


def test_a_holder_that_failed_before_an_upgrade_shares_what_it_handed_over(index: Index) -> None:
    index.extract = breaking
    index.fingerprint = index.fingerprint._replace(formats={"pdf": 1})
    index.run(index.root / "main", index.root / "fix")
    path = index.root / "main/docs/f3.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"BREAK {text}", encoding="utf-8")
    assert index.run(index.root / "main").n_failed == 1
    index.fingerprint = index.fingerprint._replace(formats={"pdf": 2})
    index.run(index.root / "main", index.root / "fix")
    path.write_text(text, encoding="utf-8")
    index.run(index.root / "main", index.root / "fix")
    require_both(index, "walrus3", "f3.md")


def test_a_holder_that_is_read_again_for_a_look_alike_of_a_member_keeps_its_text(index: Index) -> None:
    index.run(index.root / "fix")
    index.write("main/docs/f3.md!/note.md", "a note\n")
    for _ in range(2):
        index.run(index.root / "main")
    require_both(index, "walrus3", "f3.md")


@pytest.mark.slow
@pytest.mark.parametrize("holder", ["gone", "fix/docs/f4.md"])
def test_doctor_has_a_file_read_again_whose_text_nobody_holds(index: Index, holder: str) -> None:
    index.run(index.root / "fix")
    with contextlib.closing(sqlite3.connect(index.docstore.path)) as connection, connection:
        connection.execute(
            "UPDATE files SET holder_id = coalesce((SELECT id FROM files WHERE path = ?), 999) WHERE path = ?",
            (str(index.root / holder), str(index.root / "fix/docs/f3.md")),
        )
    assert ("shared texts", Verdict.PROBLEM) in [one[:2] for one in index.app.doctor.check()]
    assert [one[1] for one in index.app.doctor.repair() if one[0] == "shared texts"] == [Verdict.REPAIRED]
    index.run(index.root / "fix")
    require_both(index, "walrus3", "f3.md")


def test_no_file_names_itself_as_the_holder_of_its_text(index: Index) -> None:
    with contextlib.closing(sqlite3.connect(index.docstore.path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE files SET holder_id = id")


def test_it_takes_no_longer_to_look_for_a_file_with_the_bytes_of_many(index: Index) -> None:
    index.run(index.root / "fix")
    digest = content_hash(b"a licence")

    def n_steps(n_same: int) -> int:
        steps = 0

        def count_step() -> int:
            nonlocal steps
            steps += 1
            return 0

        with contextlib.closing(sqlite3.connect(index.docstore.path)) as connection:
            connection.executemany(
                """INSERT INTO files (path, hash, directory_id, state, size, mtime_ns, checked_ns, recipe)
                   VALUES (?, ?, 1, 'indexed', 1, 1, 1, 7)""",
                [(f"{index.root}/main/{number}/LICENSE", digest) for number in range(n_same)],
            )
            connection.set_progress_handler(count_step, 1)
            path = file_path(index.root / "fix/5/LICENSE")
            assert len(SharedTextWrites(connection).identical_files({path: digest}, 2, recipe=7)[path]) == 1
            connection.set_progress_handler(None, 0)
        return steps

    assert n_steps(1000) < 2 * n_steps(10)


def test_forget_that_is_cut_off_leaves_no_tag_after_the_next_run(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_off(_: Merger) -> None:
        raise KeyboardInterrupt

    index.run(index.root / "fix")
    index.vectorizer.merger.merge_all()
    with monkeypatch.context() as patch:
        patch.setattr(Merger, "repair_tags", cut_off)
        with pytest.raises(KeyboardInterrupt):
            index.indexer.forget(str(index.root / "main"))
    assert index.run(index.root / "fix").n_embedded == 0
    require_no_tag(index, "main")
    assert found(index, "walrus3", mode=SearchMode.SEMANTIC, within="fix/docs") == [("fix/docs/f3.md",)]


def test_what_is_forgotten_while_a_former_space_answers_leaves_no_tag_when_the_new_one_does(index: Index) -> None:
    def stop_reason() -> Outcome | None:
        return Outcome.OUT_OF_TIME if index.embedder.embedded else None

    index.run(index.root / "fix")
    index.vectorizer.merger.merge_all()
    index.former_embedders[index.embedder.space.name] = index.embedder
    index.embedder = FakeEmbedder(1000, model="other", batch_size=4)
    index.fingerprint = index.fingerprint._replace(embedding=index.embedder.space.name)
    options = IndexOptions(has_consent=True, wait=False)
    index.run(index.root / "main", index.root / "fix", options=options, stop_reason=stop_reason)
    index.indexer.forget(str(index.root / "main"))
    assert count(index, "SELECT count(*) FROM files WHERE tagged_below IS NOT NULL")
    index.run(index.root / "fix", options=options)
    require_no_tag(index, "main")
    assert found(index, "walrus3", mode=SearchMode.SEMANTIC, within="fix/docs") == [("fix/docs/f3.md",)]


def require_no_tag(index: Index, tree: str) -> None:
    assert count(index, "SELECT count(*) FROM files WHERE tagged_below IS NOT NULL") == 0
    assert count(index, "SELECT count(*) FROM pending_vectors") == 0
    trace = str(index.root / tree).encode()
    assert not [
        path for path in (index.data_dir / "qdrant").rglob("*") if path.is_file() and trace in path.read_bytes()
    ]


def test_an_export_counts_a_shared_text_for_each_file_that_has_it(index: Index) -> None:
    index.run(index.root / "fix")
    with index.docstore.snapshot() as snapshot:
        assert snapshot.chunks.count_of(ALL_FILES) == 2 * N_FILES
