from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from directory_indexer.extractors.document import FileFacts
from directory_indexer.paths import file_path
from directory_indexer.relevance.evidence import Excerpt, Explanation
from directory_indexer.render.answers import View, get_notes, get_text, search_lines, search_notes, search_rows
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.spans import Style, plain
from directory_indexer.searching.answers import Hit, SearchResult
from directory_indexer.searching.texts import FileText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from directory_indexer.render.spans import Line

AT_HOME = PathStyle("/home/ann/work", "/home/ann")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
pytestmark = needs_posix


def matches(lines: Iterable[Line]) -> list[str]:
    return [span.text for line in lines for span in line.spans if span.style is Style.MATCH]


def with_excerpt(result: SearchResult, text: str, *marks: tuple[int, int]) -> SearchResult:
    hit = result.hits[0]._replace(excerpt=Excerpt(text, 12, 13, marks), n_more_in_file=0)
    return result._replace(hits=(hit,))


def test_a_hit_shows_score_place_heading_and_the_words_that_matched(result: SearchResult) -> None:
    lines = list(search_lines(result, paths=AT_HOME))
    assert plain(lines).splitlines() == [
        "0.83  ~/notes/bread.md:12  Sourdough > Baking",
        "      Bake with steam,",
        "      then cool.",
        "      2 more chunks in this file",
    ]
    assert matches(lines) == ["Bake", "steam"]
    assert lines[0].spans[1].link == "file:///home/ann/notes/bread.md"


def test_a_hit_in_a_pdf_shows_its_page_and_opens_there(result: SearchResult, hit: Hit) -> None:
    on_page = result._replace(hits=(hit._replace(page=12, heading="", facts=FileFacts("pdf", "Das Brotbuch")),))
    headline = next(iter(search_lines(on_page, paths=AT_HOME)))
    assert headline.spans[2].text == "  page 12 · Das Brotbuch"
    assert headline.spans[1].link.endswith("#page=12")


def test_code_keeps_its_shape_without_the_indentation_that_all_lines_share(result: SearchResult) -> None:
    code = with_excerpt(result, "    def open(self):\r\n\treturn steam\n\n        # end\n\n", (29, 34))
    lines = list(search_lines(code, paths=AT_HOME))
    assert plain(lines[1:]).split("\n") == ["      def open(self):", "      return steam", "", "          # end", ""]
    assert matches(lines) == ["steam"]


def test_marks_in_any_order_or_overlapping_do_not_repeat_text(result: SearchResult) -> None:
    lines = list(search_lines(with_excerpt(result, "hot steam", (4, 9), (0, 3), (6, 8)), paths=AT_HOME))
    assert plain(lines[1:]) == "      hot steam\n"
    assert matches(lines) == ["hot", "steam"]


def test_the_whole_chunk_is_shown_with_the_same_words_marked(result: SearchResult) -> None:
    lines = list(search_lines(result, paths=AT_HOME, view=View.FULL))
    assert plain(lines).splitlines()[1:5] == ["      ## Baking", "", "      Bake with steam,", "      then cool."]
    assert matches(lines) == ["Bake", "steam"]


def test_with_files_each_file_is_one_line_in_the_order_of_its_best_hit(result: SearchResult, hit: Hit) -> None:
    other = hit._replace(path=file_path("/srv/b.md"), facts=FileFacts("markdown"), score=0.5)
    hits = result._replace(hits=(hit, other, hit._replace(score=0.4)))
    assert (
        plain(search_lines(hits, paths=AT_HOME, view=View.FILES)) == "0.83  ~/notes/bread.md  Bread\n0.50  /srv/b.md\n"
    )
    assert search_rows(hits, view=View.FILES) == "/home/ann/notes/bread.md\n/srv/b.md\n"


def test_an_explanation_says_where_a_hit_stood_in_each_list(result: SearchResult) -> None:
    explained = (
        "keyword rank 1 (score 8.12); semantic rank 3 (score 0.71); keyword +0.31; semantic +0.58; top_quality +0.81"
    )
    assert explained in plain(search_lines(result, paths=AT_HOME, explain=True))
    assert search_rows(result, explain=True).rstrip("\n").split("\t")[4] == explained


def test_an_explanation_leaves_out_what_adds_nothing(result: SearchResult, hit: Hit) -> None:
    signals = (("keyword", 0.31), ("file_name", 0.0), ("test_or_example", -0.0), ("semantic", 0.004))
    explained = hit._replace(explanation=hit.explanation._replace(signals=signals))
    shown = search_rows(result._replace(hits=(explained,)), explain=True)
    assert shown.rstrip("\n").endswith("; keyword +0.31")


def test_an_explanation_never_says_of_what_has_a_score_that_it_was_not_found(result: SearchResult, hit: Hit) -> None:
    explained = hit._replace(explanation=Explanation(None, 2.5, None, None))
    shown = search_rows(result._replace(hits=(explained,)), explain=True)
    assert shown.rstrip("\n").endswith("\tkeyword below the top results (score 2.50); no semantic score")


def test_in_a_pipe_a_hit_is_one_row_of_fields(result: SearchResult) -> None:
    assert search_rows(result).split("\t") == [
        "/home/ann/notes/bread.md:12",
        "0.83",
        "Sourdough > Baking",
        "Bake with steam, then cool.\n",
    ]


def test_in_a_pipe_a_whole_chunk_reads_like_grep(result: SearchResult) -> None:
    assert search_rows(result, view=View.FULL).splitlines()[2:] == [
        "/home/ann/notes/bread.md:12:Bake with steam,",
        "/home/ann/notes/bread.md:13:then cool.",
    ]


@pytest.mark.parametrize("view", View)
def test_a_hostile_file_cannot_forge_a_row_or_a_field(result: SearchResult, hit: Hit, view: View) -> None:
    hostile = "x\x1b]0;owned\x07\n/etc/passwd:1\t1.00\r"
    evil = hit._replace(
        path=file_path(f"/srv/{hostile}"), heading=hostile, text=hostile, excerpt=Excerpt(hostile, 1, 1)
    )
    rows = search_rows(result._replace(hits=(evil,)), view=view)
    assert not set(rows) & set("\x1b\x07\r")
    assert not [row for row in rows.splitlines() if row.startswith("/etc")]


def test_a_name_that_is_no_unicode_reaches_a_pipe_as_the_same_bytes(result: SearchResult, hit: Hit) -> None:
    odd = hit._replace(path=file_path("/srv/caf\udce9"))
    rows = search_rows(result._replace(hits=(odd,)), view=View.FILES)
    assert rows.encode("utf-8", "surrogateescape") == b"/srv/caf\xe9\n"


def test_what_a_reader_must_know_is_said(result: SearchResult) -> None:
    assert search_notes(result) == ()
    assert search_notes(result._replace(hits=(), degraded=("by keywords alone",))) == (
        "by keywords alone",
        "nothing found",
    )
    assert "nothing matches well" in search_notes(result._replace(is_weak=True))[0]


def test_the_text_of_a_file_is_exact_in_a_pipe_and_harmless_on_a_terminal(file_text: FileText) -> None:
    hostile = file_text._replace(text="a\tb\x1b[2J\r\n\u202ec")
    assert get_text(hostile, for_terminal=False) == hostile.text
    assert get_text(hostile, for_terminal=True) == "a\tb\\x1b[2J\n\\u202ec\n"


def test_a_part_of_a_file_and_a_change_since_are_said(file_text: FileText) -> None:
    assert get_notes(file_text, paths=AT_HOME) == (
        "~/notes/count.txt: lines 1-3 of 9",
        "~/notes/count.txt has changed since it was indexed; this is the text as it was then",
    )
    assert get_notes(file_text._replace(n_lines=3, on_disk=None), paths=AT_HOME) == ()


@pytest.mark.parametrize(
    ("pages", "named"),
    [
        ((2,), "page 2"),
        ((2, 3), "pages 2, 3"),
        (tuple(range(1, 15)), "pages 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 2 more"),
    ],
)
def test_scanned_pages_whose_text_is_missing_are_named(file_text: FileText, pages: tuple[int, ...], named: str) -> None:
    whole = file_text._replace(n_lines=3, on_disk=None, unread_pages=pages)
    [note] = get_notes(whole, paths=AT_HOME)
    assert note.endswith(f": OCR has not read {named}")
