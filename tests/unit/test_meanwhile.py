"""Work on the side ends with the block, and its error is not lost."""

from __future__ import annotations

import threading

import pytest

from directory_indexer.searching.meanwhile import Meanwhile


def test_the_answer_is_there_when_the_block_ends() -> None:
    with Meanwhile(lambda: 6 * 7) as answer:
        pass
    assert answer.answer() == 42


def test_a_block_ends_no_earlier_than_the_work_even_when_it_fails() -> None:
    may_end, ended = threading.Event(), []

    def work() -> None:
        may_end.wait()
        ended.append(True)

    def fail_meanwhile() -> None:
        with Meanwhile(work):
            threading.Timer(0.05, may_end.set).start()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_meanwhile()
    assert ended


def test_an_error_is_raised_where_the_answer_is_wanted() -> None:
    with Meanwhile(lambda: 1 // 0) as answer:
        pass
    with pytest.raises(ZeroDivisionError):
        answer.answer()
