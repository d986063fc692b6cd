"""What is told of an index run, and how far it is said to be."""

from __future__ import annotations

import io
import socket
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.core.paths import FilePath
from directory_indexer.server.index_jobs import IndexJob, percent_done, run_covers, run_state
from directory_indexer.storage.documents.runs import Outcome, Phase, RunProgress, RunRecord, Verb

RUN = RunRecord(
    7, 123, "host", Verb.INDEX, (FilePath("/a/docs"), FilePath("/a/notes")), 0.0, 1.0, RunProgress(Phase.READING, 5, 10)
)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (None, "running"),
        (Outcome.COMPLETED, "completed"),
        (Outcome.INTERRUPTED, "interrupted"),
        (Outcome.OUT_OF_TIME, "out of time"),
        (Outcome.FAILED, "failed"),
    ],
)
def test_every_outcome_has_a_state_and_a_next_step(outcome: Outcome | None, state: str) -> None:
    result = run_state(RUN._replace(outcome=outcome), joined=False)
    assert (result.id, result.state) == ("run-7", state)
    assert result.next_step


def test_a_run_whose_process_was_killed_has_failed() -> None:
    result = run_state(RUN, joined=True, was_killed=True)
    assert result.state == "failed"
    assert result.message


def test_the_directories_of_a_run_are_told_one_by_one() -> None:
    run = RUN._replace(directories=(FilePath("/a/my docs"), FilePath("/a/it's")))
    assert run_state(run, joined=False).directories == ("/a/my docs", "/a/it's")


def test_a_run_of_another_process_that_had_the_same_number_is_not_that_of_a_job() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process, io.BytesIO() as pipe:
        job = IndexJob((FilePath("/a/docs"),), process, pipe, pipe)
        mine = RUN._replace(pid=process.pid, host=socket.gethostname(), started_at=job.started_at)
        assert job.is_job_of_run(mine)
        assert not job.is_job_of_run(mine._replace(started_at=job.started_at - 3600))
        assert not job.is_job_of_run(mine._replace(host="another"))


def test_a_run_covers_the_directories_that_it_names() -> None:
    assert run_covers(RUN, FilePath("/a/docs"))
    assert run_covers(RUN, FilePath("/a/notes"))
    assert not run_covers(RUN, FilePath("/a"))
    assert not run_covers(RUN, FilePath("/a/doc"))


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_progress_never_goes_back_while_files_are_read_and_then_embedded(read: int, more: int, embedded: int) -> None:
    def at(files: int, chunks: int, total: int) -> float:
        progress = RunProgress(Phase.EMBEDDING, files, 100, chunks_done=chunks, chunks_total=total)
        return percent_done(run_state(RUN._replace(progress=progress), joined=False))

    assert 0 < at(read, 0, 0) <= at(min(read + more, 100), 0, 0) <= at(100, 0, 100) <= at(100, embedded, 100) < 100


def test_an_ended_run_is_whole() -> None:
    assert percent_done(run_state(RUN._replace(outcome=Outcome.COMPLETED), joined=False)) == 100
