"""Every change to a directory ends in exactly the index that a fresh run would build."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import hostile_formats
import pytest
from archives import zipped
from trees import let_settle

from directory_indexer.core.errors import (
    ConsentNeededError,
    LockedError,
    NotIndexedError,
    OverlapError,
    UsageError,
    VectorsLostError,
)
from directory_indexer.core.files import SkipReason
from directory_indexer.core.fingerprint import Fingerprint
from directory_indexer.core.lock import write_lock
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.core.safe_open import MAX_FILE_BYTES
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.storage.documents.runs import Outcome, Phase, RunProgress, RunRequest, Verb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indexes import Index

    Fresh = Callable[[Index], dict[str, object]]

KEYS = "Rotate the signing keys every ninety days.\n\nThe old key stays valid for a week.\n"
SOUP = "Boil the carrots with ginger.\n\nServe the soup hot.\n"


def test_what_is_indexed_is_found_by_words_and_by_meaning(index: Index) -> None:
    index.write("ops/keys.md", KEYS)
    index.write("kitchen/soup.md", SOUP)
    report = index.run()
    assert (report.n_added, report.n_failed, report.n_pending) == (2, 0, 0)
    assert index.names("rotate keys", mode=SearchMode.KEYWORD) == ["ops/keys.md"]
    assert index.names("rotate signing keys", mode=SearchMode.SEMANTIC)[0] == "ops/keys.md"
    assert index.names("carrots soup")[0] == "kitchen/soup.md"


def test_a_file_with_another_time_and_the_same_text_is_known_by_that_time(index: Index) -> None:
    """So that it is not read at every run."""
    path = index.write("keys.md", KEYS)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    index.run()
    os.utime(path, (1_000_000_001, 1_000_000_001))
    report = index.run()
    assert (report.n_unchanged, report.n_chunks) == (1, 0)
    with index.docstore.snapshot() as snapshot:
        known = snapshot.files.get(file_path(path))
    assert known is not None
    assert known.source.mtime_ns == 1_000_000_001 * 10**9


def test_a_second_run_reads_and_embeds_nothing(index: Index, fresh: Fresh) -> None:
    path = index.write("keys.md", KEYS)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    index.run()
    report = index.run()
    assert (report.n_unchanged, report.n_chunks, report.n_bytes) == (1, 0, 0)
    assert index.embedder.embedded == []
    assert index.contents() == fresh(index)


def test_a_changed_file_is_replaced_as_a_whole(index: Index, fresh: Fresh) -> None:
    index.write("keys.md", KEYS)
    index.run()
    index.write("keys.md", SOUP)
    assert index.run().n_changed == 1
    assert index.names("rotate signing", mode=SearchMode.KEYWORD) == []
    assert index.names("carrots", mode=SearchMode.KEYWORD) == ["keys.md"]
    assert index.contents() == fresh(index)


def test_a_change_within_the_same_stamp_is_noticed(index: Index) -> None:
    path = index.write("keys.md", "alpha " * 5)
    stamp = path.stat().st_mtime_ns
    index.run()
    path.write_text("gamma " * 5, encoding="utf-8")
    os.utime(path, ns=(stamp, stamp))
    assert index.run().n_changed == 1
    assert index.names("gamma", mode=SearchMode.KEYWORD) == ["keys.md"]


def test_a_touched_file_is_read_but_not_embedded_again(index: Index) -> None:
    path = index.write("keys.md", KEYS)
    index.run()
    os.utime(path, (1_000_000_000, 1_000_000_000))
    report = index.run()
    assert (report.n_unchanged, report.n_changed) == (1, 0)
    assert index.embedder.embedded == []


def test_a_moved_file_keeps_its_vectors(index: Index, fresh: Fresh) -> None:
    path = index.write("keys.md", KEYS)
    index.run()
    (index.root / "new").mkdir()
    path.rename(index.root / "new" / "keys.md")
    report = index.run()
    assert (report.n_moved, report.n_added, report.n_removed) == (1, 0, 0)
    assert index.embedder.embedded == []
    assert index.names("rotate keys") == ["new/keys.md"]
    assert index.contents() == fresh(index)


def test_a_moved_directory_is_not_embedded_again_after_a_merge(index: Index, fresh: Fresh) -> None:
    for number in range(12):
        index.write(f"old/note{number}.md", f"note number {number} about subject{number}\n")
    index.run()
    index.vectorizer.merger.merge_all()
    (index.root / "old").rename(index.root / "new")
    report = index.run()
    assert (report.n_moved, report.n_reused, report.n_embedded) == (12, 12, 0)
    assert index.contents() == fresh(index)


def test_a_deleted_file_is_gone_from_both_lists(index: Index, fresh: Fresh) -> None:
    index.write("soup.md", SOUP)
    path = index.write("keys.md", KEYS)
    index.run()
    index.vectorizer.merger.merge_all()
    path.unlink()
    assert index.run().n_removed == 1
    assert "keys.md" not in index.names("rotate the signing keys")
    assert index.contents() == fresh(index)


def test_two_equal_files_are_two_files(index: Index) -> None:
    index.write("a.md", KEYS)
    index.write("b.md", KEYS)
    report = index.run()
    assert len(index.embedder.embedded) == len(set(index.embedder.embedded))
    assert report.n_embedded + report.n_reused == report.n_chunks
    (index.root / "a.md").unlink()
    index.run()
    assert index.names("rotate keys") == ["b.md"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", SkipReason.EMPTY),
        (b"\x7fELF" + bytes(range(256)) * 4, SkipReason.BINARY),
        (b"x" * 200_000, SkipReason.TOO_LARGE),
    ],
)
def test_a_file_that_can_no_longer_be_indexed_leaves_the_index(
    index: Index, fresh: Fresh, content: bytes, reason: SkipReason
) -> None:
    path = index.write("keys", KEYS)
    index.run()
    path.write_bytes(content)
    assert dict(index.run().skipped) == {reason: 1}
    assert index.names("rotate keys") == []
    assert index.contents() == fresh(index)


def test_a_skipped_file_stays_skipped_and_counted(index: Index) -> None:
    path = index.root / "program"
    path.write_bytes(b"\x7fELF" + bytes(range(256)) * 4)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    first, second = index.run(), index.run()
    assert first.skipped == second.skipped == ((SkipReason.BINARY, 1),)
    assert first.n_seen == second.n_seen == 1


def test_a_file_that_is_ignored_from_now_on_leaves_the_index(index: Index, fresh: Fresh) -> None:
    index.write("keys.md", KEYS)
    index.write("notes/soup.md", SOUP)
    index.run()
    index.write(".dirindexignore", "notes/\n")
    report = index.run()
    assert (report.n_removed, report.n_ignored) == (1, 2)
    assert index.names("carrots") == []
    assert index.names("rotate keys") == ["keys.md"]
    assert index.contents() == fresh(index)


def test_unchanged_chunks_of_an_edited_file_are_not_embedded_again(index: Index, fresh: Fresh) -> None:
    functions = [
        f"def function_{n}(value):\n" + f"    value += {n}\n" * 20 + "    return value\n\n\n" for n in range(30)
    ]
    index.write("module.py", "".join(functions))
    index.run()
    functions[7] = functions[7].replace("return value", "return value * 2")
    index.write("module.py", "".join(functions))
    report = index.run()
    assert 1 <= report.n_embedded <= 2
    assert report.n_embedded + report.n_reused == report.n_chunks
    assert index.contents() == fresh(index)


def test_an_empty_root_that_was_full_is_an_error_not_a_deletion(index: Index) -> None:
    path = index.write("keys.md", KEYS)
    index.run()
    path.unlink()
    report = index.run()
    assert report.unavailable_roots == (index.root.as_posix(),)
    assert index.names("rotate keys") == ["keys.md"]


def test_a_missing_root_is_an_error_not_a_deletion(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.run()
    index.root.rename(index.root.with_name("elsewhere"))
    report = index.run()
    assert report.unavailable_roots
    assert report.n_failed == 1
    assert index.names("rotate keys") == ["keys.md"]


def test_one_missing_root_does_not_keep_others_from_being_updated(index: Index, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    index.write("keys.md", KEYS)
    index.run(index.root, other)
    shutil.rmtree(index.root)
    (other / "soup.md").write_text(SOUP, encoding="utf-8")
    report = index.indexer.index([], options=IndexOptions(), listener=index.progress.append, stop_reason=lambda: None)
    assert (report.n_added, len(report.unavailable_roots)) == (1, 1)


def test_vectors_that_wait_to_be_used_again_outlive_a_merge(index: Index) -> None:
    keys, soup = index.write("keys.md", KEYS), index.write("soup.md", SOUP)
    index.run()
    index.vectorizer.merger.merge_all()
    (index.root / "moved").mkdir()
    keys.rename(index.root / "moved" / "keys.md")
    soup.unlink()
    index.progress.clear()
    index.run(stop_reason=lambda: Outcome.INTERRUPTED if any(one.files_done for one in index.progress) else None)
    index.vectorizer.merger.merge_all()
    report = index.run()
    assert (report.n_embedded, report.n_reused) == (0, 1)
    index.vectorizer.merger.merge_all()
    with index.docstore.snapshot() as snapshot:
        assert index.vectorstore.open_generation(snapshot.vector_sets.generation(index.vectorstore.place)).count() == 1


def test_forget_removes_everything_of_a_directory(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.run()
    assert index.indexer.forget(str(index.root)) == 1
    with pytest.raises(NotIndexedError, match="nothing is indexed"):
        index.search("rotate keys")
    assert KEYS.split()[2].encode() not in index.docstore.path.read_bytes()
    with index.docstore.snapshot() as snapshot:
        assert index.vectorstore.open_generation(snapshot.vector_sets.generation(index.vectorstore.place)).count() == 0


def test_a_directory_that_was_forgotten_meanwhile_is_not_tracked_again_by_whoever_watches_it(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.run()
    index.indexer.forget(str(index.root))
    assert index.run(options=IndexOptions(tracked_only=True)).outcome is Outcome.COMPLETED
    with index.docstore.snapshot() as snapshot:
        assert not snapshot.directories.all()


def test_a_run_that_is_stopped_goes_on_where_it_ended(index: Index, fresh: Fresh) -> None:
    for number in range(40):
        index.write(f"note{number}.md", f"note number {number} about subject{number}\n")
    calls = iter(range(1000))
    report = index.run(stop_reason=lambda: Outcome.INTERRUPTED if next(calls) > 8 else None)
    assert report.outcome is Outcome.INTERRUPTED
    assert index.contents() != fresh(index)
    assert index.run().outcome is Outcome.COMPLETED
    assert index.contents() == fresh(index)


@pytest.mark.parametrize("has_consent", [False, True])
def test_a_run_that_would_fill_four_fifths_of_the_free_disk_waits_for_consent(
    index: Index, monkeypatch: pytest.MonkeyPatch, *, has_consent: bool
) -> None:
    index.write("soup.md", SOUP)
    index.run()
    path = index.write("keys.md", KEYS * 1000)
    usage = shutil.disk_usage(index.root)
    needed = 3 * path.stat().st_size  # what the index takes for each byte of text
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=int(needed / 0.81)))
    if has_consent:
        assert index.run(options=IndexOptions(has_consent=True)).n_added == 1
        return
    with pytest.raises(ConsentNeededError, match="GiB free"):
        index.run()
    assert index.names("keys carrots", mode=SearchMode.KEYWORD) == ["soup.md"]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=int(needed / 0.79)))
    assert index.run().n_added == 1


def test_another_way_of_chunking_is_asked_about_and_then_read_again(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.run()
    index.fingerprint = Fingerprint(embedding="fake/bag-of-words", chunking="32/4", extraction="1", analysis="1")
    with pytest.raises(ConsentNeededError, match="chunk every file again"):
        index.run()
    assert index.run(options=IndexOptions(has_consent=True)).n_changed == 1
    assert index.run().n_changed == 0


def test_other_words_are_filled_in_without_reading_files(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.run()
    index.fingerprint = Fingerprint(embedding="fake/bag-of-words", chunking="64/8", extraction="1", analysis="2")
    report = index.run()
    assert report.n_changed == 0
    assert index.names("rotate keys", mode=SearchMode.KEYWORD) == ["keys.md"]


def test_overlapping_directories_are_refused_with_what_to_run(index: Index) -> None:
    index.write("notes/keys.md", KEYS)
    index.run()
    with pytest.raises(OverlapError, match="lies in"):
        index.run(index.root / "notes")
    with pytest.raises(OverlapError, match="holds"):
        index.run(index.root.parent)


def test_a_file_or_nothing_is_no_directory(index: Index) -> None:
    path = index.write("keys.md", KEYS)
    with pytest.raises(UsageError, match="is a file"):
        index.run(path)
    with pytest.raises(UsageError, match="does not exist"):
        index.run(index.root / "nowhere")


def test_the_summary_accounts_for_every_file(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.write("empty.md", "")
    (index.root / "link.md").symlink_to("keys.md")
    report = index.run()
    assert (report.n_seen, report.n_added, report.n_skipped) == (3, 1, 2)


def test_rules_that_cannot_be_read_take_nothing_out_of_the_index(index: Index) -> None:
    index.write(".dirindexignore", "!.hidden/\n")
    index.write(".hidden/keys.md", KEYS)
    index.write("soup.md", SOUP)
    index.run()
    index.write(".dirindexignore", "!.hidden/\n" + "#" * MAX_FILE_BYTES)
    report = index.run()
    assert (report.n_removed, [failure.path for failure in report.failures]) == (0, [f"{index.root}/.dirindexignore"])
    assert index.names("rotate keys")[0] == ".hidden/keys.md"


def test_what_cannot_be_reached_any_more_can_be_forgotten_by_itself(index: Index) -> None:
    index.write("soup.md", SOUP)
    keys = index.write("drive/keys.md", KEYS)
    index.run()
    shutil.rmtree(keys.parent)
    with index.docstore.transaction() as transaction:
        transaction.directories.set_mounts(1, {file_path(keys.parent): ""})
    assert index.run().n_failed == 1
    assert index.names("rotate keys")[0] == "drive/keys.md"
    assert index.indexer.forget(str(keys.parent)) == 1
    assert (index.run().n_failed, index.names("rotate keys"), index.names("carrots")) == (0, [], ["soup.md"])


def test_what_can_be_reached_is_forgotten_only_as_a_whole(index: Index) -> None:
    index.write("notes/keys.md", KEYS)
    index.run()
    with pytest.raises(NotIndexedError, match="is not tracked"):
        index.indexer.forget(str(index.root / "notes"))


def test_an_ignore_file_outside_of_the_directory_that_fails_is_told_but_is_no_file_of_it(
    index: Index, home_directory: Path
) -> None:
    index.write("keys.md", KEYS)
    rules = home_directory / ".config" / "git" / "ignore"
    rules.parent.mkdir(parents=True)
    rules.write_text("#" * (MAX_FILE_BYTES + 1), encoding="utf-8")
    assert [failure.path for failure in index.run().failures] == [str(rules)]
    with index.docstore.snapshot() as snapshot:
        assert snapshot.left_out.failures(within=None, limit=9) == ()


def _delete(vectors: Path) -> None:
    shutil.rmtree(vectors)


def _cut_short(vectors: Path) -> None:
    largest = max((path for path in vectors.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    os.truncate(largest, 10)


def _take_a_file_away(vectors: Path) -> None:
    next(vectors.rglob("version.info")).unlink()


def _empty_every_file(vectors: Path) -> None:
    for path in vectors.rglob("*"):
        if path.is_file():
            os.truncate(path, 0)


@pytest.mark.parametrize("damage", [_delete, _cut_short, _take_a_file_away, _empty_every_file])
def test_lost_vectors_are_made_again_from_the_stored_texts(
    index: Index, fresh: Fresh, damage: Callable[[Path], None]
) -> None:
    for name, text in (("keys.md", KEYS), ("soup.md", SOUP)):
        os.utime(index.write(name, text), (1_000_000_000, 1_000_000_000))
    index.run()
    index.vectorizer.merger.merge_all()
    index.close()
    damage(index.data_dir / "qdrant")
    answer = index.searcher.search(SearchRequest("rotate the keys"))
    assert [hit.path for hit in answer.hits] == [f"{index.root}/keys.md"]
    assert "answered by keywords alone" in answer.note_texts[0]
    with pytest.raises(VectorsLostError):
        index.search("rotate the keys", mode=SearchMode.SEMANTIC)
    report = index.run()
    assert (report.n_unchanged, report.n_bytes, report.n_pending) == (2, 0, 0)
    assert report.n_embedded == 2
    assert index.search("rotate the keys", mode=SearchMode.SEMANTIC)
    assert index.contents() == fresh(index)


def test_lost_vectors_do_not_take_those_along_that_are_not_merged_yet(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.run()
    index.vectorizer.merger.merge_all()
    index.write("soup.md", SOUP)
    index.run()
    index.close()
    shutil.rmtree(index.data_dir / "qdrant")
    assert index.run().n_embedded == 1


def test_vectors_of_another_state_of_the_database_are_made_again(index: Index, fresh: Fresh) -> None:
    index.write("keys.md", KEYS)
    index.run()
    index.vectorizer.merger.merge_all()
    index.write("soup.md", SOUP)
    index.run()
    with index.docstore.transaction() as transaction:
        transaction.vectors.publish(index.vectorstore.place, 1)
    assert index.run().n_embedded == 2
    assert index.contents() == fresh(index)


def test_a_directory_is_forgotten_although_its_vectors_are_lost(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.run()
    index.vectorizer.merger.merge_all()
    index.close()
    shutil.rmtree(index.data_dir / "qdrant")
    assert index.indexer.forget(str(index.root)) == 1


def test_after_a_run_that_was_cut_off_no_file_is_parsed_in_the_process(index: Index) -> None:
    index.extract = hostile_formats.tell_process
    with index.docstore.transaction() as transaction:
        transaction.runs.start(RunRequest(Verb.INDEX), pid=1, host="here")
    index.write("before.txt", "x")
    index.run()
    index.write("after.txt", "y")
    index.run()
    assert index.names(str(os.getpid()), mode=SearchMode.KEYWORD) == ["after.txt"]


def test_who_waits_or_may_not_wait_is_told_who_writes_and_how_far_it_is(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.run()
    with index.docstore.transaction() as transaction:
        run_id = transaction.runs.start(RunRequest(Verb.INDEX, [FilePath("/docs")]), pid=4711, host="elsewhere")
        transaction.runs.update(run_id, RunProgress(Phase.COVERING, chunks_done=30, chunks_total=40))
    waited: list[RunProgress] = []
    with write_lock(index.data_dir / "write.lock", wait=False):
        with pytest.raises(
            LockedError, match=r"process 4711 .* dirindex index /docs \(preparing search by meaning, 75 %\)"
        ):
            index.run()
        with pytest.raises(LockedError):
            index.indexer.index(
                [str(index.root)],
                options=IndexOptions(wait=True),
                listener=waited.append,
                stop_reason=lambda: Outcome.INTERRUPTED if waited else None,
            )
    assert "process 4711" in waited[0].waits_for


@pytest.mark.timeout(30)
def test_a_reader_that_stays_holds_up_nobody_and_keeps_its_view(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.run()
    with index.docstore.snapshot() as reader:
        assert reader.n_chunks == 1
        index.write("soup.md", SOUP)
        assert index.run().n_added == 1
        index.indexer.forget(str(index.root))
        assert reader.n_chunks == 1


def test_a_run_that_must_stop_while_it_walks_says_nothing_of_what_it_has_not_seen(index: Index) -> None:
    index.write("a/keys.md", KEYS)
    index.write("b/soup.md", SOUP)
    index.run()
    report = index.run(stop_reason=lambda: Outcome.OUT_OF_TIME)
    assert (report.outcome, report.n_removed, report.n_seen) == (Outcome.OUT_OF_TIME, 0, 0)
    assert index.run().n_unchanged == 2


@pytest.mark.parametrize(
    ("name", "damaged", "sound"),
    [
        ("a.fb2", b"<FictionBook><body>", b"<FictionBook><body><p>Carrots</p></body></FictionBook>"),
        ("a.ipynb", b'{"cells": ', b'{"cells": [{"cell_type": "markdown", "source": "Carrots"}]}'),
        ("a.zip", b"PK\3\4" + bytes(100), zipped({"a.md": "Carrots.\n"})),
    ],
)
def test_a_damaged_file_is_not_read_again_until_it_changes(
    index: Index, name: str, damaged: bytes, sound: bytes
) -> None:
    let_settle(index.write_bytes(name, damaged))
    first = index.run()
    assert [os.path.basename(failure.path) for failure in first.failures] == [name]
    assert n_read(index) == 1

    second = index.run()
    assert [failure.message for failure in second.failures] == [failure.message for failure in first.failures]
    assert n_read(index) == 0

    index.write_bytes(name, sound)
    assert index.run().n_failed == 0
    assert len(index.names("carrots")) == 1


def test_a_damaged_file_is_read_again_when_files_of_any_kind_are_read_in_another_way(index: Index) -> None:
    index.fingerprint = index.fingerprint._replace(formats={"fictionbook": 1})
    let_settle(index.write_bytes("a.fb2", b"<FictionBook><body>"))
    index.run()
    index.progress.clear()

    index.fingerprint = index.fingerprint._replace(formats={"fictionbook": 2})
    index.run()

    assert n_read(index) == 1


def n_read(index: Index) -> int:
    """Count the files that the last run read."""
    counted = [one.files_total for one in index.progress if one.phase is Phase.READING]
    index.progress.clear()
    return max(counted, default=0)


def test_the_holes_of_a_sparse_file_need_no_room(index: Index) -> None:
    index.write("keys.md", KEYS)
    os.truncate(index.write("hole.pdf", "%PDF-1.7"), 1 << 40)
    assert index.run().outcome is Outcome.COMPLETED
    assert "hole.pdf" not in index.contents()
