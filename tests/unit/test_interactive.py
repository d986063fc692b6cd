from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.cli.interactive import Key, Listing, interact, keys_in, printed_place, screen_lines
from directory_indexer.core.errors import UsageError
from directory_indexer.core.ids import chunk_id_of
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts
from directory_indexer.ranking.candidates import Excerpt
from directory_indexer.search.requests import Hit
from directory_indexer.text.formatting import PathStyle, plain
from directory_indexer.text.terminal import frame

if TYPE_CHECKING:
    from directory_indexer.search.requests import SearchResult


def hit(number: int) -> Hit:
    text = f"the harbour {number}\nis quiet\n"
    return Hit(
        path=file_path(f"/srv/{number}.md"),
        facts=FileFacts("markdown"),
        score=0.5,
        chunk_id=chunk_id_of("0b2f3a52-9f0c-5d0e-8f5e-2f6d0c6b7a11"),
        ordinal=0,
        start_line=1,
        end_line=2,
        page=None,
        heading="",
        text=text,
        excerpt=Excerpt(text, 1, 2, ((4, 11),)),
    )


LISTING = Listing("harbour", tuple(map(hit, range(30))))


def test_keys_are_distinguished_from_characters() -> None:
    assert list(keys_in("a\x1b[Bé\x7f\x1bOA\x1b[15~\x1b[I\r\t\x1b")) == [
        *("a", Key.DOWN, "é", Key.ERASE, Key.UP, Key.OPEN, Key.ACCEPT, Key.QUIT)
    ]


def test_what_is_pasted_with_hostile_characters_is_typed_without_them() -> None:
    assert "".join(keys_in("a\x00\x9b\u202eb")) == "ab"


@pytest.mark.parametrize(
    ("key", "query"),
    [
        (Key.ERASE, "two word"),
        (Key.ERASE_WORD, "two "),
        (Key.CLEAR, ""),
        ("x", "two wordsx"),
        (Key.ACCEPT, "two words"),
    ],
)
def test_a_query_is_edited_at_its_end(key: Key | str, query: str) -> None:
    assert Listing("two words").after(key).query == query
    assert Listing("").after(Key.ERASE).query == ""


def test_the_selection_stays_within_the_hits() -> None:
    assert LISTING.after(Key.UP).selected == 0
    assert LISTING.after(Key.PAGE_DOWN).after(Key.PAGE_DOWN).after(Key.PAGE_DOWN).after(Key.PAGE_DOWN).selected == 29
    assert Listing("nothing").after(Key.DOWN).selected == 0


@pytest.mark.parametrize("selected", [0, 3, 12, 29])
def test_the_selected_hit_is_always_in_view_above_its_passage(selected: int) -> None:
    lines = screen_lines(LISTING._replace(selected=selected), paths=PathStyle(), columns=80, rows=20)
    rows = plain(lines).splitlines()
    assert any(row.startswith(f"> {selected + 1:>2}  ") for row in rows)
    assert rows[-2].endswith(f"the harbour {selected}")
    assert len(rows) <= 20


def test_what_is_pasted_without_end_is_cut() -> None:
    listing = Listing()
    for key in keys_in("word" * 5_000):
        listing = listing.after(key)
    assert len(listing.query) < 10_000


def test_the_place_that_is_taken_writes_no_escape_sequence_to_the_terminal() -> None:
    hostile = hit(1)._replace(path=file_path("/srv/a\x1b]52;c;cm0gLXJm\x07\n\udc9b2J.md"))
    assert printed_place(hostile) == r"/srv/a\x1b]52;c;cm0gLXJm\x07\n\x9b2J.md:1"


def test_a_frame_never_reaches_below_the_screen() -> None:
    for height in (3, 8, 40):
        lines = screen_lines(LISTING, paths=PathStyle(), columns=30, rows=height)
        assert frame(lines, width=30, height=height, environ={}).count("\r\n") <= height - 1


def test_nobody_can_type_where_there_is_no_terminal() -> None:
    def find(_: str) -> SearchResult:
        raise AssertionError

    with pytest.raises(UsageError, match="needs a terminal"):
        interact(find, query="", paths=PathStyle(), environ={})
