"""A run that is killed costs at most the batch in hand: the next one ends in the index of an undisturbed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, Process, run_command, start_command
from indexes import Rounded

from directory_indexer.core.lock import write_lock
from directory_indexer.core.paths import file_path
from directory_indexer.search.vector_search import VectorSearch
from directory_indexer.storage.documents.runs import Phase
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations

if TYPE_CHECKING:
    from collections.abc import Callable

    from directory_indexer.storage.documents.statistics import IndexSummary


def _index(docs: Path, data_dir: Path) -> Process:
    return start_command([DIRINDEX, "index", docs, "--data-dir", data_dir, "--quiet"])


def _contents(data_dir: Path) -> dict[str, object]:
    """Give every text and whether its vector is there, by its place."""
    vectorstore = EmbeddedVectorStore(Generations(data_dir / "qdrant" / "directory-indexer"), dimensions=384)
    nearest = VectorSearch(place=vectorstore.place, vectorstore=lambda _: vectorstore)
    contents: dict[str, object] = {}
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        for directory in snapshot.directories.all():
            for path, known in snapshot.files.records_within(directory).items():
                chunks = snapshot.chunks.of_file(path)
                vectors = nearest.vectors(snapshot, [chunk.chunk_id for chunk in chunks])
                shown = [(chunk.chunk, Rounded(vectors[chunk.chunk_id])) for chunk in chunks]
                contents[path] = (known.hash, known.state, shown)
        contents["words"] = snapshot.words.count_rows()
    vectorstore.close()
    return contents


def _kill_in(phase: Phase, process: Process, data_dir: Path) -> None:
    _send_in(phase, signal.SIGKILL, process, data_dir)
    assert process.returncode == -signal.SIGKILL, "it ended before it could be killed"


def _send_in(phase: Phase, number: signal.Signals, process: Process, data_dir: Path) -> None:
    """Send a run a signal as soon as it says that it has come to a phase, or to a later one; wait for its end."""
    database, phases = data_dir / "data.db", list(Phase)
    while not _ends_at_once(process):
        if not database.exists():
            continue
        with DocStore(database).snapshot() as snapshot:
            runs = snapshot.runs.latest(1)
        if runs and phases.index(runs[0].progress.phase) >= phases.index(phase):
            break
    process.send_signal(number)
    process.wait()


def _kill_when(is_far_enough: Callable[[IndexSummary], bool], process: Process, data_dir: Path) -> None:
    """Kill a run as soon as the database is far enough."""
    while not (data_dir / "data.db").exists() or not is_far_enough(_summary(data_dir)):
        assert not _ends_at_once(process), "it ended before it could be killed"
    process.kill()
    process.wait()


def _summary(data_dir: Path) -> IndexSummary:
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        return snapshot.overview.summary()


def _ends_at_once(process: Process) -> bool:
    """Whether a process ends in a moment, which leaves it the processor that asking again and again would take."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.02)
    return process.returncode is not None


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    docs = tmp_path_factory.mktemp("docs")
    for number in range(160):
        text = f"# Note {number}\n\nSubject {number * 7919} is treated here, and nothing else.\n"
        (docs / f"note{number:03}.md").write_text(text, encoding="utf-8")
    return docs


@pytest.fixture(scope="module")
def truth(docs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    data_dir = tmp_path_factory.mktemp("truth")
    assert _index(docs, data_dir).wait() == 0
    return _contents(data_dir)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("phase", [pytest.param(Phase.WALKING, marks=pytest.mark.slow), Phase.READING, Phase.EMBEDDING])
def test_after_a_kill_the_next_run_completes_the_index(
    docs: Path, truth: dict[str, object], tmp_path: Path, phase: Phase
) -> None:
    _kill_in(phase, _index(docs, tmp_path), tmp_path)
    assert _index(docs, tmp_path).wait() == 0
    assert _contents(tmp_path) == truth


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize(("count", "n_files", "n_lines"), [("n_files", 400, 1), ("n_embedded", 40, 100)])
def test_what_was_written_before_a_kill_is_neither_read_nor_embedded_again(
    tmp_path: Path, count: str, n_files: int, n_lines: int
) -> None:
    docs, data_dir = tmp_path / "docs", tmp_path / "data"
    docs.mkdir()
    for number in range(n_files):
        lines = (f"Subject {number * 7919 + at} is treated here, and nothing else.\n" for at in range(n_lines))
        (docs / f"note{number:03}.md").write_text("".join(lines), encoding="utf-8")
    words: list[str | Path] = [DIRINDEX, "index", docs, "--data-dir", data_dir, "--json"]
    environ = {**os.environ, "DIRINDEX_MONITORING__BATCH_SIZE": "5"}

    _kill_when(lambda index: getattr(index, count) > 0, start_command(words, env=environ), data_dir)
    before = _summary(data_dir)
    report = json.loads(run_command(words, env=environ).stdout)

    assert getattr(before, count) < getattr(_summary(data_dir), count), "it was killed too late"
    assert (report["unchanged"], report["added"]) == (before.n_files, n_files - before.n_files)
    assert report["embedded"] + report["reused"] == _summary(data_dir).n_embedded - before.n_embedded


def test_ten_runs_that_open_a_new_index_at_once_make_one(tmp_path: Path) -> None:
    data_dir, roots = tmp_path / "new", [tmp_path / f"docs{number}" for number in range(10)]
    for number, root in enumerate(roots):
        root.mkdir()
        (root / "note.md").write_text(f"Subject {number} is treated here.\n", encoding="utf-8")
    processes = [_index(root, data_dir) for root in roots]
    assert [process.wait() for process in processes] == [0] * 10
    assert set(_contents(data_dir)) == {*(str(root / "note.md") for root in roots), "words"}


def test_a_second_run_that_may_not_wait_leaves_with_exit_code_4(docs: Path, tmp_path: Path) -> None:
    with write_lock(tmp_path / "write.lock", wait=True):
        done = run_command([DIRINDEX, "index", docs, "--data-dir", tmp_path, "--no-wait"], check=False)
    assert done.returncode == 4


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("n_files", [8, *(pytest.param(number, marks=pytest.mark.slow) for number in (12, 16))])
def test_a_run_without_enough_open_files_says_so_and_the_next_one_completes(
    docs: Path, truth: dict[str, object], tmp_path: Path, n_files: int
) -> None:
    import resource  # noqa: PLC0415 - Windows has no such module

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (n_files, n_files))

    words: list[str | Path] = [DIRINDEX, "index", docs, "--data-dir", tmp_path, "--quiet"]
    done = subprocess.run(words, preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 3}, done.stderr
    assert ("dirindex: " in done.stderr) == (done.returncode == 3)
    assert _index(docs, tmp_path).wait() == 0
    assert _contents(tmp_path) == truth


@pytest.mark.skipif(os.name != "posix", reason="SIGINT")
@pytest.mark.parametrize("interrupt", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_a_run_whatever_a_parser_does(tmp_path: Path, interrupt: signal.Signals) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for number in range(40):
        (hostile / f"a{number}.md").write_text(f"Subject {number}.\n", encoding="utf-8")
    for number in range(20):
        (hostile / f"{number}.swift").write_text("#" * 262_000 + str(number), encoding="ascii")
    run = _index(hostile, tmp_path / "data")

    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(timeout=1)
    _send_in(Phase.READING, interrupt, run, tmp_path / "data")

    assert run.returncode == 130
    with DocStore(tmp_path / "data" / "data.db").snapshot() as snapshot:
        assert len(snapshot.files.records_within(file_path(hostile))) < 60
