"""Embedding that nobody waits for, in processes of its own: it steps aside, is seen by others, and is done by one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest
from indexes import Index
from shells import DIRINDEX

from directory_indexer.indexing.options import Effort, IndexOptions
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.runs import Outcome, Phase, RunRequest, Verb

if TYPE_CHECKING:
    from collections.abc import Callable

    from directory_indexer.storage.documents.runs import RunRecord

_TESTS = Path(__file__).parent.parent

_RUN = """
import os, sys
from pathlib import Path
from indexes import Index
from directory_indexer.indexing import options
from directory_indexer.indexing.options import Effort, IndexOptions
from directory_indexer.indexing.options import BackgroundThrottle
from directory_indexer.core.machine import battery_percent
options._BATTERY_SECONDS = options._LONG_REST_SECONDS = 0.05
root = Path(sys.argv[1])
index = Index(root / "docs", root / "data")
def background():
    return BackgroundThrottle(index.docstore.path, min_percent=30, battery=lambda: battery_percent(root / "power"))
index.indexer
index.app.policies.index = index.app.policies.index._replace(background_throttle=background)
vars(index.app.runs).pop("indexer")
report = index.app.runs.indexer.index([], options=IndexOptions(waiting_only=True, effort=Effort.BACKGROUND),
    listener=lambda _: None, stop_reason=lambda: None)
print(report.n_embedded, report.n_pending, os.getpriority(os.PRIO_PROCESS, 0), flush=True)
index.close()
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Index:
    """Make an index of which nothing is embedded."""
    (tmp_path / "docs").mkdir()
    index = Index(root=tmp_path / "docs", data_dir=tmp_path / "data")
    for number in range(40):
        index.write(f"{number}.md", f"Ledger {number}.\n")
    report = index.run(options=IndexOptions(effort=Effort.NONE))
    assert (report.outcome, report.n_embedded, report.n_pending) == (Outcome.COMPLETED, 0, 40)
    return index


def battery(place: Path, status: str) -> None:
    directory = place / "power" / "BAT0"
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in (("type", "Battery"), ("status", status), ("capacity", "18")):
        part = directory / f"{name}.part"
        part.write_text(content)
        part.replace(directory / name)


def seen(index: Index, wanted: Callable[[RunRecord], bool], process: subprocess.Popen[str]) -> RunRecord:
    """Look at the newest run until it is as wanted; a process that ends before fails the test, one that hangs, too."""
    while True:
        with index.docstore.snapshot() as snapshot:
            [run] = snapshot.runs.latest(1)
        if wanted(run):
            return run
        assert process.poll() is None, process.stderr and process.stderr.read()


def lines_of(stream: IO[str] | None) -> list[str]:
    assert stream is not None
    return stream.read().split()


@pytest.mark.skipif(sys.platform != "linux", reason="tells of batteries in files")
@pytest.mark.timeout(120)
def test_a_run_pauses_on_battery_says_so_lets_others_write_and_goes_on_when_plugged_in(
    waiting: Index, tmp_path: Path
) -> None:
    battery(tmp_path, "Discharging")
    environ = {**os.environ, "PYTHONPATH": f"{_TESTS}{os.pathsep}{_TESTS.parent}"}
    with subprocess.Popen(
        [sys.executable, "-c", _RUN, str(tmp_path)],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        run = seen(waiting, lambda run: "paused" in run.message, process)
        assert (run.progress.phase, run.message) == (Phase.EMBEDDING, "in the background, paused: on battery at 18 %")
        waiting.write("soup.md", "Boil the carrots.\n")
        report = waiting.run(options=IndexOptions(effort=Effort.FULL))
        assert (report.n_added, report.n_embedded, report.n_pending) == (1, 0, 41), "two never embed at once"
        assert waiting.names("carrots", mode=SearchMode.KEYWORD) == ["soup.md"]
        battery(tmp_path, "Charging")
        assert lines_of(process.stdout) == ["41", "0", "10"]
        assert process.wait(60) == 0
    with waiting.docstore.snapshot() as snapshot:
        assert {(run.outcome, run.message) for run in snapshot.runs.latest(3)} == {(Outcome.COMPLETED, "")}
    waiting.close()


def test_only_what_waits_is_embedded_where_no_directory_is_looked_at(waiting: Index) -> None:
    waiting.write("soup.md", "Boil the carrots.\n")
    report = waiting.run(options=IndexOptions(waiting_only=True))
    assert (report.n_seen, report.n_embedded, report.n_pending) == (0, 40, 0)
    assert not waiting.names("carrots", mode=SearchMode.KEYWORD)
    waiting.close()


@pytest.mark.timeout(120)
def test_a_run_that_was_killed_is_not_said_to_pause(waiting: Index, tmp_path: Path) -> None:
    with waiting.docstore.transaction() as transaction:
        run_id = transaction.runs.start(RunRequest(Verb.INDEX), pid=1, host="here")
        transaction.runs.update(run_id, waiting.progress[-1]._replace(notice="in the background, paused: so it was"))
    command: list[str | Path] = [DIRINDEX, "status", "--data-dir", tmp_path / "data"]
    told = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", timeout=60).stdout
    assert "so it was" not in told
    waiting.close()
