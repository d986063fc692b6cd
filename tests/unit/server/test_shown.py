"""What a session was shown is kept for it and its key alone, and no more than a part of it."""

from __future__ import annotations

from typing import Any

from directory_indexer.api.hits import Passage
from directory_indexer.server.mcp import clients
from directory_indexer.server.mcp.clients import Client, ReturnedLines, ReturnedPassages, omit_returned_excerpt


def passage(number: int, *, line: int = 3, excerpt: str = "one\ntwo") -> Passage:
    fields: dict[str, Any] = dict.fromkeys(Passage._fields)
    fields |= {"chunk_id": f"{number}", "line": line, "excerpt": excerpt}
    fields |= {"excerpt_start_line": 2, "excerpt_end_line": 4, "marks": ((0, 3),)}
    return Passage(**fields)


def test_it_is_kept_for_one_session_and_one_key() -> None:
    passages = ReturnedPassages()
    passages.record(Client("a", b"key"), [passage(1)])
    passages.record(None, [passage(2)])
    assert passages.lines_returned_to(Client("a", b"key")) == {"1": ReturnedLines(2, 4)}
    assert [
        passages.lines_returned_to(one) for one in (Client("a", b"other"), Client("b", b"key"), Client(), None)
    ] == [{}] * 4


def test_what_was_shown_longest_ago_is_forgotten_first() -> None:
    passages = ReturnedPassages()
    passages.record(Client(), [passage(number) for number in range(300)])
    passages.record(Client(), [passage(0), passage(300)])
    kept = passages.lines_returned_to(Client())
    assert len(kept) == 300
    assert {"0", "2", "300"} <= set(kept)
    assert "1" not in kept


def test_the_client_that_was_idle_longest_is_forgotten_first() -> None:
    passages = ReturnedPassages()
    for number in (*range(200), 0, 200):
        passages.record(Client(f"{number}"), [passage(1)])
    assert passages.lines_returned_to(Client("0"))
    assert not passages.lines_returned_to(Client("1"))


def test_only_what_was_shown_is_left_out() -> None:
    token = clients.returned_lines.set({"1": ReturnedLines(2, 4)})
    try:
        assert omit_returned_excerpt(passage(1)).excerpt == ""
        assert omit_returned_excerpt(passage(1)).shown_before == "2-4"
        assert omit_returned_excerpt(passage(1, line=5)) == passage(1, line=5)
        assert omit_returned_excerpt(passage(2)) == passage(2)
    finally:
        clients.returned_lines.reset(token)


def test_a_passage_that_was_only_named_is_not_noted() -> None:
    passages = ReturnedPassages()
    passages.record(Client(), [passage(1, excerpt=""), passage(2)._replace(shown_before="2-4")])
    assert passages.lines_returned_to(Client()) == {}
