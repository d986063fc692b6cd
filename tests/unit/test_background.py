"""Work on the side ends with the block, and its error is not lost."""

from __future__ import annotations

import _thread
import threading

import pytest

from directory_indexer.search.on_demand_embedding import BackgroundTask


def test_the_answer_is_there_when_the_block_ends() -> None:
    with BackgroundTask(lambda: 6 * 7) as task:
        pass
    assert task.result() == 42


def test_a_block_ends_no_earlier_than_the_work_even_when_it_fails() -> None:
    may_end, ended = threading.Event(), []

    def work() -> None:
        may_end.wait()
        ended.append(True)

    def fail_meanwhile() -> None:
        with BackgroundTask(work):
            threading.Timer(0.05, may_end.set).start()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_meanwhile()
    assert ended


def test_an_error_is_raised_where_the_answer_is_wanted() -> None:
    with BackgroundTask(lambda: 1 // 0) as task:
        pass
    with pytest.raises(ZeroDivisionError):
        task.result()


def test_the_work_is_done_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with BackgroundTask(lambda: 6 * 7) as task:
        pass
    assert task.result() == 42
