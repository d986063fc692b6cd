"""Work on the side ends with the block, and its error is not lost."""

from __future__ import annotations

import pytest

from directory_indexer.searching.meanwhile import Meanwhile


def test_the_answer_is_there_when_the_block_ends() -> None:
    with Meanwhile(lambda: 6 * 7) as answer:
        pass
    assert answer.answer() == 42


def test_an_error_is_raised_where_the_answer_is_wanted() -> None:
    with Meanwhile(lambda: 1 // 0) as answer:
        pass
    with pytest.raises(ZeroDivisionError):
        answer.answer()
