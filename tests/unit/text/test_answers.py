from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.notes import Note
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts
from directory_indexer.ranking.candidates import Excerpt, Explanation
from directory_indexer.search.file_texts import FileText
from directory_indexer.search.requests import Hit, PassagePair, SearchRequest, SearchResult
from directory_indexer.text.excerpts import excerpt_window
from directory_indexer.text.formatting import PathStyle, Style, plain
from directory_indexer.text.results import (
    TSV_COLUMNS,
    Format,
    View,
    format_rows,
    get_notes,
    get_text,
    near_misses_note,
    search_lines,
    search_notes,
    search_rows,
    without_near_misses,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from directory_indexer.text.formatting import Line

ABSOLUTE = PathStyle()
AT_HOME = PathStyle("/home/ann/work", "/home/ann")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
pytestmark = needs_posix


def matches(lines: Iterable[Line]) -> list[str]:
    return [span.text for line in lines for span in line.spans if span.style is Style.MATCH]


def with_excerpt(result: SearchResult, text: str, *marks: tuple[int, int]) -> SearchResult:
    hit = result.hits[0]._replace(text=text, excerpt=Excerpt(text, 12, 13, marks), n_more_in_file=0)
    return result._replace(hits=(hit,))


def test_a_hit_names_other_files_with_its_passage(result: SearchResult) -> None:
    others = tuple(file_path(f"/home/ann/{tree}/bread.md") for tree in ("copy", "fix", "topic", "x"))
    hit = result.hits[0]._replace(also_in=others)
    lines = plain(list(search_lines(result._replace(hits=(hit,)), paths=AT_HOME))).splitlines()
    assert "        also in ~/copy/bread.md, ~/fix/bread.md and 2 more" in lines


def test_a_hit_shows_score_place_heading_and_the_words_that_matched(result: SearchResult) -> None:
    lines = list(search_lines(result, paths=AT_HOME))
    assert plain(lines).splitlines() == [
        " 1  ~/notes/bread.md:12  Sourdough > Baking  2026-06-01  0.83",
        "    10  ## Baking",
        "    11",
        "    12  Bake with steam,",
        "    13  then cool.",
        "        2 more passages in this file",
    ]
    assert matches(lines) == ["Bake", "steam"]
    assert lines[0].spans[1].link == "file:///home/ann/notes/bread.md"


def test_a_hit_in_a_pdf_shows_its_page_and_opens_there(result: SearchResult, hit: Hit) -> None:
    on_page = result._replace(hits=(hit._replace(page=12, heading="", facts=FileFacts("pdf", "Das Brotbuch")),))
    headline = next(iter(search_lines(on_page, paths=AT_HOME)))
    assert headline.spans[1].text == "~/notes/bread.md, page 12"
    assert headline.spans[2].text == "  Das Brotbuch"
    assert headline.spans[1].link.endswith("#page=12")


def test_code_keeps_its_shape_without_the_indentation_that_all_lines_share(result: SearchResult) -> None:
    code = with_excerpt(result, "    def open(self):\r\n\t    return steam\n\n        # end\n\n", (33, 38))
    lines = list(search_lines(code, paths=AT_HOME))
    assert plain(lines[1:]).split("\n") == [
        "    10      def open(self):",
        "    11          return steam",
        "    12",
        "    13          # end",
        "",
    ]
    assert matches(lines) == ["steam"]


def test_marks_in_any_order_or_overlapping_do_not_repeat_text(result: SearchResult) -> None:
    lines = list(search_lines(with_excerpt(result, "hot steam", (4, 9), (0, 3), (6, 8)), paths=AT_HOME))
    assert plain(lines[1:]) == "    10  hot steam\n"
    assert matches(lines) == ["hot", "steam"]


def test_the_whole_chunk_is_shown_with_the_same_words_marked(result: SearchResult) -> None:
    lines = list(search_lines(result, paths=AT_HOME, view=View.FULL))
    assert plain(lines).splitlines()[1:5] == [
        "    10  ## Baking",
        "    11",
        "    12  Bake with steam,",
        "    13  then cool.",
    ]
    assert matches(lines) == ["Bake", "steam"]


def test_with_files_each_file_is_one_line_in_the_order_of_its_best_hit(result: SearchResult, hit: Hit) -> None:
    other = hit._replace(path=file_path("/srv/b.md"), facts=FileFacts("markdown"), score=0.5)
    hits = result._replace(hits=(hit, other, hit._replace(score=0.4)))
    assert (
        plain(search_lines(hits, paths=AT_HOME, view=View.FILES))
        == " 1  ~/notes/bread.md  Bread  2026-06-01  0.83\n 2  /srv/b.md  2026-06-01  0.50\n"
    )
    assert search_rows(hits, paths=ABSOLUTE, view=View.FILES) == "/home/ann/notes/bread.md\n/srv/b.md\n"


def test_an_explanation_says_where_a_hit_stood_in_each_list_and_what_its_score_consists_of(
    result: SearchResult,
) -> None:
    explained = (
        "keyword rank 1 (score 8.12); semantic rank 3 (score 0.71); "
        "score 0.83 = 0.31 keyword + 0.58 semantic - 0.06 same_file"
    )
    assert explained in plain(search_lines(result, paths=AT_HOME, explain=True))
    assert search_rows(result, paths=ABSOLUTE, explain=True).rstrip("\n").split("\t")[4] == explained


def test_an_explanation_leaves_out_what_adds_nothing(result: SearchResult, hit: Hit) -> None:
    signals = {"keyword": 0.31, "file_name": 0.0, "beside_code": -0.0, "semantic": 0.004}
    explained = hit._replace(score=0.314, explanation=hit.explanation._replace(signals=signals))
    shown = search_rows(result._replace(hits=(explained,)), paths=ABSOLUTE, explain=True)
    assert shown.rstrip("\n").endswith("; score 0.31 = 0.31 keyword")


def test_an_explanation_never_says_of_what_has_a_score_that_it_was_not_found(result: SearchResult, hit: Hit) -> None:
    explained = hit._replace(explanation=Explanation(None, 2.5, None, None, {}))
    shown = search_rows(result._replace(hits=(explained,)), paths=ABSOLUTE, explain=True)
    assert shown.rstrip("\n").endswith("\tkeyword below the top results (score 2.50); no semantic score")


def test_in_a_pipe_a_hit_is_one_row_of_fields(result: SearchResult) -> None:
    assert search_rows(result, paths=ABSOLUTE).split("\t") == [
        "/home/ann/notes/bread.md:12",
        "0.83",
        "Sourdough > Baking",
        "Bake with steam, then cool.\n",
    ]


def test_in_a_pipe_a_whole_chunk_reads_like_grep(result: SearchResult) -> None:
    assert search_rows(result, paths=ABSOLUTE, view=View.FULL).splitlines()[2:] == [
        "/home/ann/notes/bread.md:12:Bake with steam,",
        "/home/ann/notes/bread.md:13:then cool.",
    ]


@pytest.mark.parametrize("view", View)
def test_a_hostile_file_cannot_forge_a_row_or_a_field(result: SearchResult, hit: Hit, view: View) -> None:
    hostile = "x\x1b]0;owned\x07\n/etc/passwd:1\t1.00\r"
    evil = hit._replace(
        path=file_path(f"/srv/{hostile}"), heading=hostile, text=hostile, excerpt=Excerpt(hostile, 1, 1)
    )
    rows = search_rows(result._replace(hits=(evil,)), paths=ABSOLUTE, view=view)
    assert not set(rows) & set("\x1b\x07\r")
    assert not [row for row in rows.splitlines() if row.startswith("/etc")]


def test_a_name_that_is_no_unicode_reaches_a_pipe_as_the_same_bytes(result: SearchResult, hit: Hit) -> None:
    odd = hit._replace(path=file_path("/srv/caf\udce9"))
    rows = search_rows(result._replace(hits=(odd,)), paths=ABSOLUTE, view=View.FILES)
    assert rows.encode("utf-8", "surrogateescape") == b"/srv/caf\xe9\n"


def test_what_a_reader_must_know_is_said(result: SearchResult) -> None:
    assert search_notes(result) == ()
    assert search_notes(result._replace(hits=(), notes=(Note("by keywords alone"),))) == (
        "by keywords alone",
        "nothing found",
    )
    assert "nothing matches well" in search_notes(result._replace(is_weak=True))[0]
    (empty,) = search_notes(result._replace(hits=(), request=result.request._replace(query=" ")))
    assert empty.startswith("the query is empty")


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


LONG = (
    "".join(f"line {n} of a passage\n" for n in range(30))
    + "here is steam\n"
    + "".join(f"after {n}\n" for n in range(30))
)


@pytest.mark.parametrize("n_lines", [1, 3, 5, 200])
def test_so_many_lines_are_shown_around_what_matched(result: SearchResult, n_lines: int) -> None:
    at = LONG.index("steam")
    lines = plain(search_lines(with_excerpt(result, LONG, (at, at + 5)), paths=AT_HOME, n_lines=n_lines)).splitlines()[
        1:
    ]
    assert len(lines) == min(n_lines, 61)
    assert "    40  here is steam" in lines


def test_a_paragraph_in_one_line_is_cut_around_what_matched(result: SearchResult) -> None:
    text = "before " * 200 + "steam" + " after" * 200
    lines = plain(search_lines(with_excerpt(result, text, (1400, 1405)), paths=AT_HOME)).splitlines()
    assert "steam" in lines[1]
    assert len(lines[1]) < 300


def test_words_of_the_language_have_colours_and_what_matched_is_seen_above_them(result: SearchResult, hit: Hit) -> None:
    code = "def steam(pot):\n    return 'hot'  # why\n"
    shown = hit._replace(facts=FileFacts("python"), text=code, excerpt=Excerpt(code, 10, 11, ((4, 9),)))
    lines = list(search_lines(result._replace(hits=(shown,)), paths=AT_HOME))
    styles = {span.text: span.style for one in lines[1:] for span in one.spans}
    assert styles["def"] is styles["return"] is Style.KEYWORD
    assert styles["steam"] is Style.MATCH
    assert styles["'hot'"] is Style.LITERAL


def test_near_misses_are_offered_in_a_line_and_not_shown(result: SearchResult, hit: Hit) -> None:
    request = SearchRequest("x", only_good=True)
    weak = result._replace(request=request, hits=(hit._replace(score=0.2), hit._replace(score=0.1)), is_weak=True)
    shown, near = without_near_misses(weak)
    assert [one.score for one in shown.hits] == [0.2]
    assert near_misses_note(near, paths=AT_HOME) == (
        "not near enough to show, 0.10: ~/notes/bread.md:12; --all shows it"
    )
    assert near_misses_note([*near, *near], paths=AT_HOME).startswith("not near enough to show, 0.10 and less: ")
    assert near_misses_note([near[0]._replace(score=0.001)], paths=AT_HOME).startswith("not near enough to show: ")
    assert without_near_misses(weak._replace(request=request._replace(only_good=False)))[1] == ()
    assert without_near_misses(weak._replace(is_weak=False))[1] == ()


def test_a_similar_file_says_which_passages_agree(result: SearchResult, hit: Hit) -> None:
    agreeing = hit._replace(agreements=(PassagePair(0.81, 3, 9, "Baking", 20, 30, ""),))
    text = plain(search_lines(result._replace(hits=(agreeing,)), paths=AT_HOME, view=View.SCORED_FILES))
    assert text.splitlines()[1] == "        3-9  Baking  like 20-30  0.81"


def test_a_similar_file_names_each_of_its_passages_once(result: SearchResult, hit: Hit) -> None:
    agreements = tuple(PassagePair(score, 3, 9, "Baking", own, own + 5, "") for score, own in ((0.8, 20), (0.7, 40)))
    similar = result._replace(hits=(hit._replace(agreements=agreements),))
    assert plain(search_lines(similar, paths=AT_HOME, view=View.SCORED_FILES)).count("like") == 1


def test_what_only_filters_have_found_has_no_score(result: SearchResult) -> None:
    newest = result._replace(request=SearchRequest("type:md"))
    assert plain(search_lines(newest, paths=AT_HOME)).splitlines()[0].endswith("  2026-06-01")


MAIL = "Subject: Warm\nFrom: ann@example.org\n\nDear Bob,\nthe heating is warm.\n"


@pytest.mark.parametrize("best_line", [None, 1])
def test_of_a_mail_its_sentence_is_shown_and_not_its_headers(
    result: SearchResult, hit: Hit, best_line: int | None
) -> None:
    marks = ((9, 13), (MAIL.rindex("warm"), MAIL.rindex("warm") + 4))
    excerpt = Excerpt(MAIL, 1, 5, marks, best_line=best_line)
    mail = hit._replace(
        facts=FileFacts("email", "Warm"), text=MAIL, start_line=1, end_line=5, excerpt=excerpt, n_more_in_file=0
    )
    lines = plain(search_lines(result._replace(hits=(mail,)), paths=AT_HOME)).splitlines()
    assert lines == [
        " 1  ~/notes/bread.md  Sourdough > Baking  2026-06-01  0.83",
        "     4  Dear Bob,",
        "     5  the heating is warm.",
    ]


def test_a_mail_that_is_all_headers_shows_them(result: SearchResult, hit: Hit) -> None:
    mail = hit._replace(facts=FileFacts("email"), text="Subject: Warm\n\n", start_line=1, excerpt=Excerpt("", 1, 1))
    assert "     1  Subject: Warm" in plain(search_lines(result._replace(hits=(mail,)), paths=AT_HOME)).splitlines()


def test_paths_in_a_pipe_are_relative_below_the_working_directory_and_no_options(
    result: SearchResult, hit: Hit
) -> None:
    here = PathStyle("/home/ann/notes")
    hits = tuple(hit._replace(path=file_path(path)) for path in ("/home/ann/notes/-x.md", "/srv/b.md", hit.path))
    shown = format_rows(result._replace(hits=hits), Format.PATHS, paths=here)
    assert shown.splitlines() == ["./-x.md", "/srv/b.md", "bread.md"]


def test_paths_that_end_with_nul_are_exact_whatever_is_in_them(result: SearchResult, hit: Hit) -> None:
    names = ("a\nb.md", "a\\nb.md", "caf\udce9.md", "-x.md")
    hits = tuple(hit._replace(path=file_path(f"/srv/{name}")) for name in names)
    shown = format_rows(result._replace(hits=(*hits, hits[0])), Format.NULL_PATHS, paths=PathStyle("/srv"))
    assert shown == "a\nb.md\0a\\nb.md\0caf\udce9.md\0./-x.md\0"


@pytest.mark.parametrize("form", [form for form in Format if form not in {Format.JSON, Format.NULL_PATHS}])
def test_no_form_lets_a_hostile_file_forge_a_hit(result: SearchResult, hit: Hit, form: Format) -> None:
    hostile = "x\x1b]0;owned\x07\n/etc/passwd:1\t1.00\r```\n"
    evil = hit._replace(
        path=file_path(f"/srv/{hostile}"), heading=hostile, text=hostile, excerpt=Excerpt(hostile, 1, 2)
    )
    shown = format_rows(result._replace(hits=(evil,)), form, paths=ABSOLUTE)
    assert not set(shown) & set("\x1b\x07\r")
    assert not [row for row in shown.splitlines() if row.startswith("/etc")]


def test_columns_are_named_and_the_same_for_every_hit(result: SearchResult, hit: Hit) -> None:
    odd = hit._replace(heading="", text="long " * 1000, excerpt=Excerpt("long\t\n" * 1000, 1, 1000))
    table = format_rows(result._replace(hits=(hit, odd)), Format.TSV, paths=ABSOLUTE).splitlines()
    assert table[0].split("\t") == list(TSV_COLUMNS)
    assert {row.count("\t") for row in table} == {len(TSV_COLUMNS) - 1}
    assert max(map(len, table)) < 500


def test_like_grep_each_line_that_matched_has_its_place(result: SearchResult) -> None:
    assert format_rows(result, Format.GREP, paths=ABSOLUTE) == "/home/ann/notes/bread.md:12:Bake with steam,\n"


def test_as_json_lines_every_hit_is_an_object(result: SearchResult) -> None:
    (line,) = format_rows(result, Format.JSONL, paths=ABSOLUTE).splitlines()
    assert json.loads(line)["path"] == "/home/ann/notes/bread.md"


@pytest.mark.parametrize(
    ("score", "signals", "parts"),
    [
        pytest.param(0.4, {"keyword": 1.2, "exact": 0.8, "scale": 0.2}, {"keyword": 0.24, "exact": 0.16}, id="scaled"),
        pytest.param(0.3, {"keyword": 1.2, "scale": 0.5}, {"keyword": 0.6, "place": -0.3}, id="capped"),
        pytest.param(1.0, {"keyword": 0.4, "name": 1.0}, {"keyword": 0.4, "name": 0.6}, id="moved by a name"),
        pytest.param(0.67, {"a": 0.335, "b": 0.335, "scale": 1.0}, {"a": 0.33, "b": 0.34}, id="rounded"),
    ],
)
def test_the_parts_of_a_score_add_up_to_it(
    hit: Hit, score: float, signals: dict[str, float], parts: dict[str, float]
) -> None:
    shown = hit.explanation._replace(signals=signals).adding_up_to(score, 2).signals
    assert {name: part for name, part in shown.items() if part} == parts
    assert round(sum(shown.values()), 2) == score


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("csv", 'a,b\nx,"wicker, ""large"""\n"y",\n', ["a | b", 'x | wicker, "large"', "y | "]),
        ("csv", 'a;b\nMüller;12,50\n"Bonn; Süd";1,2,3\n', ["a | b", "Müller | 12,50", "Bonn; Süd | 1,2,3"]),
        ("tsv", 'gene\tstart\nTP53\t7"\n', ["gene | start", 'TP53 | 7"']),
        ("csv", 'a,b\nx,"two\nlines"\ny,z\n', ["a | b", "x | two", "lines", "y | z"]),
        ("csv", '1, "x, y", 3\n4, 5 ,6\n', ["1 |  x, y |  3", "4 |  5  | 6"]),
        ("text", 'a,b\n"x",y\n', ["a,b", '"x",y']),
    ],
)
def test_rows_of_a_csv_file_are_shown_as_those_of_a_sheet(hit: Hit, kind: str, text: str, shown: list[str]) -> None:
    last = text.rindex(shown[-1][0])
    excerpt = Excerpt(text, 1, 4, ((last, last + 1),))
    rows = excerpt_window(hit._replace(facts=FileFacts(kind), text=text, excerpt=excerpt, start_line=1), n_lines=9)
    assert ["".join(span.text for span in row.spans) for row in rows] == shown
    assert [row.number for row in rows] == list(range(1, len(shown) + 1))
    assert [span.text for row in rows for span in row.spans if span.style is Style.MATCH] == [shown[-1][0]]
