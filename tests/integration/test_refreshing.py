"""A question never gets an old answer in silence: what changed is brought in, or it is said that it is not."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from served import Served
from teams import Team
from trees import let_settle, plant

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.lock import write_lock
from directory_indexer.core.notes import NoteKind
from directory_indexer.core.paths import FilePath
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.indexing.refresh import Refresher
from directory_indexer.matching import PatternOptions
from directory_indexer.search.grep import GrepRequest, grep
from directory_indexer.storage.documents.runs import Outcome, Phase, RunProgress, RunRequest, Verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indexes import Index

    from directory_indexer.indexing.refresh import RefreshResult
    from directory_indexer.storage.documents.store import DocStore

LONG_ENOUGH = 100.0
SAID = "changed since|not searchable by meaning yet"


def look(index: Index, *scope: FilePath, seconds: float = LONG_ENOUGH) -> RefreshResult:
    assert index.indexer  # sets the policies of the test
    vars(index.app.runs).pop("refresher", None)
    return index.app.runs.refresher.refresh(scope, seconds=seconds)


def glance(index: Index, *, seconds: float) -> RefreshResult:
    assert index.indexer  # sets the policies of the test
    vars(index.app.runs).pop("refresher", None)
    return index.app.runs.refresher.refresh_watched((), seconds=seconds)


def names_with(index: Index, text: str) -> set[str]:
    with index.docstore.snapshot() as snapshot:
        found = grep(snapshot, GrepRequest(PatternOptions((text,), are_texts=True)))
        return {str(one.path).removeprefix(f"{index.root}/") for one in found.files}


def test_no_answer_is_old_in_silence(index: Index) -> None:
    chance = random.Random(7)  # noqa: S311 - nothing secret
    names = [f"{number % 3}/{number}.md" for number in range(12)]
    for name in names:
        index.write(name, "begin\n")
    index.run()
    current = dict.fromkeys(names, "begin")
    for number in range(70):
        name = chance.choice(names)
        if current[name] and chance.random() < 1 / 5:
            (index.root / name).unlink()
            current[name] = ""
        else:
            current[name] = f"word{number}x"
            index.write(name, f"{current[name]}\n")
        seconds = chance.choice([LONG_ENOUGH, LONG_ENOUGH, 0.001])
        freshness = look(index, seconds=seconds)
        is_right = all(names_with(index, word) >= {one} for one, word in current.items() if word)
        is_right &= names_with(index, "") == {one for one, word in current.items() if word}
        assert is_right or freshness.notes, (number, name, current[name])
        assert is_right or seconds != LONG_ENOUGH


def test_what_has_not_changed_is_not_written(index: Index) -> None:
    index.write("a.md", "one\n")
    index.run()
    runs = [0, 1]
    # What was changed just before may have changed once more, until the clock of the file system has gone on.
    while runs[-1] != runs[-2] and len(runs) < 1000:
        assert look(index).notes == ()
        with index.docstore.snapshot() as snapshot:
            runs.append(snapshot.runs.latest(1)[0].id)
    assert runs[-1] == runs[-2]


def test_what_was_brought_in_is_not_said_to_be_missing_though_time_ran_out_over_it(index: Index) -> None:
    index.write("a.md", "one\n")
    index.run()
    for milliseconds in range(0, 60, 2):
        index.write("a.md", f"word{milliseconds}x\n")
        freshness = look(index, seconds=milliseconds / 1000)
        is_in = names_with(index, f"word{milliseconds}x") == {"a.md"}
        assert is_in is not bool(freshness.notes)


def test_it_never_waits_for_who_writes(index: Index) -> None:
    index.write("a.md", "one\n")
    index.run()
    index.write("a.md", "two\n")
    index.write("b.md", "two\n")
    with write_lock(index.app.lock_path, wait=False):
        freshness = look(index)
    assert freshness.n_missing == 2
    assert "2 files changed since the last run" in freshness.notes[0].text
    assert names_with(index, "two") == set()


def test_only_what_is_asked_about_is_brought_in(index: Index) -> None:
    index.write("near/a.md", "one\n")
    index.write("far/b.md", "one\n")
    index.run()
    index.write("near/a.md", "two\n")
    index.write("far/b.md", "two\n")
    assert look(index, FilePath(str(index.root / "near"))).notes == ()
    assert names_with(index, "two") == {"near/a.md"}
    index.run()
    assert names_with(index, "two") == {"near/a.md", "far/b.md"}


def test_a_directory_that_is_gone_is_named(index: Index) -> None:
    index.write("a.md", "one\n")
    index.run()
    (index.root / "a.md").unlink()
    index.root.rmdir()
    assert any(str(index.root) in note.text for note in look(index).notes)
    assert names_with(index, "one") == {"a.md"}


@pytest.mark.parametrize("is_indexed", [True, False])
def test_an_index_that_is_new_or_built_in_another_way_is_left_alone(index: Index, *, is_indexed: bool) -> None:
    index.write("a.md", "one\n")
    if is_indexed:
        index.run()
    index.write("a.md", "two\n")
    index.fingerprint = index.fingerprint._replace(chunking="other")
    freshness = look(index)
    assert freshness.n_missing == int(is_indexed)
    assert names_with(index, "two") == set() if is_indexed else True


def test_a_glance_sees_what_the_watch_has_not_brought_in_yet(index: Index) -> None:
    index.write("a.md", "one\n")
    index.run()
    index.write("a.md", "two\n")
    assert glance(index, seconds=LONG_ENOUGH).notes == ()
    assert names_with(index, "two") == {"a.md"}


def test_a_glance_that_is_cut_off_leaves_it_to_the_watch_for_a_while_and_says_so(index: Index) -> None:
    index.write("a.md", "one\n")
    index.run()
    index.write("a.md", "two\n")
    assert "may not be in the index yet" in glance(index, seconds=0.0).notes[0].text
    assert (
        "may not be in the index yet" in index.app.runs.refresher.refresh_watched((), seconds=LONG_ENOUGH).notes[0].text
    )
    assert names_with(index, "two") == set()


def clock_of_slow_reading(docstore: DocStore) -> float:
    """Time stands still until something is read, which takes longer than any search waits."""
    with docstore.snapshot() as snapshot:
        return 1000.0 if any(run.outcome is None for run in snapshot.runs.latest(1)) else 0.0


def slow_look(index: Index, *, starts: bool = True) -> tuple[RefreshResult, list[Sequence[FilePath]]]:
    """Refresh where a worker takes too long to start; return also what was left to the background."""
    assert index.indexer  # sets the policies of the test
    left: list[Sequence[FilePath]] = []

    def start(directories: Sequence[FilePath]) -> bool:
        left.append(directories)
        return starts

    freshness = Refresher(
        index.app.runs.parts,
        walk=index.app.policies.walk,
        clock=lambda: clock_of_slow_reading(index.docstore),
        read_in_background=start,
    ).refresh((), seconds=1.0)
    return freshness, left


def test_what_there_was_no_time_for_is_read_in_the_background_and_in_the_next_answer(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (tmp_path / "config.json").write_text(json.dumps({"indexing": {"embedding": "off"}}), encoding="utf-8")
    app = App(load_config(file=tmp_path / "config.json", data_dir=tmp_path / "data", environ={}))
    (root / "a.md").write_text("one\n", encoding="utf-8")
    let_settle(root / "a.md")
    app.runs.indexer.index([str(root)], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None)
    (root / "b.csv").write_text("kestrel,falcon\n", encoding="utf-8")
    refresher = Refresher(
        app.runs.parts,
        walk=app.policies.walk,
        clock=lambda: clock_of_slow_reading(app.docstore),
        read_in_background=app.runs.reading_process.start,
    )
    [note] = refresher.refresh((), seconds=1.0).notes
    assert str(note) == "1 file changed since the last run and is being indexed now"
    assert app.runs.reading_process.wait() == 0
    assert app.refresh(()) == ()
    with app.docstore.snapshot() as snapshot:
        matches = grep(snapshot, GrepRequest(PatternOptions(("kestrel",), are_texts=True)))
    assert [match.path for match in matches.files] == [str(root / "b.csv")]
    app.close()


def test_only_directories_with_changes_are_left_to_the_background(index: Index) -> None:
    path = index.write("a.md", "one\n")
    let_settle(path)  # a file that was just written is read again
    index.run()
    assert slow_look(index)[1] == []
    index.write("a.md", "two\n")
    freshness, left = slow_look(index)
    assert left == [(str(index.root),)]
    assert [note.kind for note in freshness.notes] == [NoteKind.ARRIVING]


def test_the_note_on_a_run_stands_until_it_is_done_however_much_is_left(index: Index) -> None:
    index.write("a.md", "one\n")
    index.run()
    index.write("a.md", "two\n")
    [first] = slow_look(index)[0].notes
    index.write("b.md", "two\n")
    [second] = slow_look(index)[0].notes
    index.run()
    index.write("a.md", "three\n")
    [later] = slow_look(index)[0].notes
    assert first.is_standing
    assert first.text != second.text
    assert first.identity == second.identity
    assert first.identity != later.identity


def test_a_search_names_the_command_where_no_process_can_be_started(index: Index) -> None:
    index.write("a.md", "one\n")
    index.run()
    index.write("a.md", "two\n")
    [note] = slow_look(index, starts=False)[0].notes
    assert note.command.startswith("dirindex index")


def test_nothing_is_read_in_the_background_while_a_run_is_paused(index: Index) -> None:
    index.write("a.md", "one\n")
    index.run()
    index.write("a.md", "two\n")
    with index.docstore.transaction() as transaction:
        run_id = transaction.runs.start(RunRequest(Verb.INDEX), pid=1, host=FilePath("elsewhere"))
        transaction.pauses.put(run_id)
        transaction.runs.finish(run_id, Outcome.PAUSED, "")
    freshness, left = slow_look(index)
    assert left == []
    assert freshness.notes[0].command


@pytest.mark.parametrize(("n_changed", "paused", "found"), [(10, 0, 10), (11, 0, 0), (1, 1, 0)])
def test_a_few_small_changes_get_seven_times_as_long(index: Index, n_changed: int, paused: int, found: int) -> None:
    for number in range(n_changed):
        index.write(f"{number}.md", "one\n")
    index.run()
    for number in range(n_changed):
        index.write(f"{number}.md", "two\n")
    if paused:
        with index.docstore.transaction() as transaction:
            run_id = transaction.runs.start(RunRequest(Verb.INDEX), pid=1, host=FilePath("elsewhere"))
            transaction.pauses.put(run_id)
            transaction.runs.finish(run_id, Outcome.PAUSED, "")
    assert index.indexer  # sets the policies of the test
    clock = lambda: clock_of_slow_reading(index.docstore) / 1000  # noqa: E731 - reading takes a second
    Refresher(index.app.runs.parts, walk=index.app.policies.walk, clock=clock).refresh((), seconds=0.3)
    assert len(names_with(index, "two")) == found


@pytest.mark.parametrize("phase", [Phase.READING, Phase.MERGING])
def test_what_another_run_reads_now_is_said_to_be_on_its_way(index: Index, phase: Phase) -> None:
    index.write("a.md", "one\n")
    index.run()
    index.write("a.md", "two\n")
    with write_lock(index.app.lock_path, wait=False), index.docstore.transaction() as transaction:
        run_id = transaction.runs.start(RunRequest(Verb.INDEX), pid=1, host=FilePath("elsewhere"))
        transaction.runs.update(run_id, RunProgress(phase))
    with write_lock(index.app.lock_path, wait=False):
        freshness = look(index)
    assert freshness.n_missing == 1
    assert freshness.is_arriving is (phase is Phase.READING)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("search", {"query": "kestrel", "mode": "keyword"}),
        ("grep", {"pattern": "kestrel"}),
        ("symbol", {"name": "kestrel"}),
        ("locate", {"report": "kestrel is wrong, see birds.py"}),
        ("similar_files", {"path": "soup.md"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_assistant_is_answered_by_what_came_since_the_last_run(
    tmp_path: Path, tool: str, given: dict[str, object]
) -> None:
    team = Team(tmp_path / "data")
    docs = plant(tmp_path / "docs", {"soup.md": "The kestrel is no soup.\n"})
    team.app.runs.indexer.index([str(docs)], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None)
    plant(docs, {"birds.py": "def kestrel():\n    return 'The kestrel is no soup.'\n"})

    with Served(team) as served:
        text, _ = served.call(tool, given)
        body = json.dumps({"pattern": "kestrel"}).encode()
        plant(docs, {"hawks.md": "No kestrel is a hawk.\n"})
        lines = served.ask("POST", "/api/v1/grep", body=body).json
    team.close()
    assert re.search(f"birds.py|{SAID}", text)
    assert re.search(f"hawks.md|{SAID}", json.dumps(lines))
