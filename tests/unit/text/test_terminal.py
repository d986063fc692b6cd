from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts
from directory_indexer.formats.table import FORMATS
from directory_indexer.search.requests import Hit, SearchResult
from directory_indexer.storage.documents.runs import Phase, RunProgress
from directory_indexer.text.excerpts import head_line
from directory_indexer.text.formatting import PathStyle, Span, Style, line
from directory_indexer.text.progress import IndexSteps, Pace
from directory_indexer.text.results import search_lines
from directory_indexer.text.terminal import LiveProgress, progress_display, styled

_CODES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\")


def bare(text: str) -> list[str]:
    return _CODES.sub("", text).splitlines()


def test_styles_become_colours_and_links_open_files() -> None:
    text = styled([line(Span("a.md", Style.PATH, "file:///a.md"), Span("x", Style.MATCH))], width=80, environ={})
    assert "\x1b[1;4;31mx" in text
    assert re.search(r"\x1b\]8;id=\d+;file:///a\.md\x1b\\", text)
    assert bare(text) == ["a.mdx"]


def test_no_color_leaves_no_colour_but_the_words_and_the_weight() -> None:
    text = styled([line(Span("x", Style.MATCH), Span("y", Style.PATH))], width=80, environ={"NO_COLOR": "1"})
    assert text == "\x1b[1;4mx\x1b[0my\n"


def test_a_hostile_name_cannot_reach_the_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07\u202e\n\x9b1m"
    text = styled([line(Span(hostile, Style.PATH), indent=4, head=hostile)], width=200, environ={})
    assert not set("".join(bare(text))) & set("\x1b\x07\u202e\x9b")
    assert len(bare(text)) == 1


def test_square_brackets_and_numbers_are_not_styled() -> None:
    assert styled([line("[red]1[/red] :smile: 'a'")], width=80, environ={}) == "[red]1[/red] :smile: 'a'\n"


def test_a_long_place_is_left_whole_and_a_long_text_goes_on_below_its_indentation() -> None:
    path = "/".join(["directory"] * 12)
    text = styled([line(Span(path, Style.PATH)), line("steam " * 20, indent=6, head="name")], width=40, environ={})
    first, second, *others = bare(text)
    assert first == path
    assert second.startswith("name  steam")
    assert others
    assert all(row.startswith("      steam") and len(row) <= 40 for row in others)


def fitted(path: str, heading: str, *, width: int, style: Style = Style.SHORTENED_PATH) -> str:
    spans = (Span(" 1  "), Span(path, style), Span(f"  {heading}", Style.PLACE), Span("  0.57"))
    [row] = bare(styled([line(*spans)], width=width, environ={}))
    return row


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (81, " 1  work/billing/accounts.py:1204  Accounting > Invoices > save_all_numbers  0.57"),
        (72, " 1  work/billing/accounts.py:1204  … > Invoices > save_all_numbers  0.57"),
        (64, " 1  work/billing/accounts.py:1204  … > save_all_numbers  0.57"),
        (56, " 1  work/billing/accounts.py:1204  … > save_all_n…  0.57"),
        (48, " 1  work/billing/accounts.py:1204  0.57"),
        (32, " 1  work…/accounts.py:1204  0.57"),
    ],
)
def test_the_inner_heading_and_the_name_of_a_file_are_shown_longest(width: int, shown: str) -> None:
    row = fitted("work/billing/accounts.py:1204", "Accounting > Invoices > save_all_numbers", width=width)
    assert cell_len(row) <= width
    assert row == shown


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (90, " 1  sample/archives/2…/lighthouse.zip!/inspection.eml!/report.pdf:12  … > Lamp and …  0.57"),
        (80, " 1  sample/…/lighthouse.zip!/inspection.eml!/report.pdf:12  … > Lamp and …  0.57"),
        (66, " 1  …/lighthouse.zip!/inspection.eml!/report.pdf:12  0.57"),
        (50, " 1  …/lightho…/inspection.eml!/report.pdf:12  0.57"),
    ],
)
def test_directories_are_cut_before_a_heading_and_a_heading_before_names_of_containers(width: int, shown: str) -> None:
    path = "sample/archives/2026/lighthouse.zip!/inspection.eml!/report.pdf:12"
    row = fitted(path, "Inspection > Lamp and lens", width=width)
    assert cell_len(row) <= width
    assert row == shown


def test_directories_in_a_container_are_cut_before_its_name() -> None:
    row = fitted("sample/lighthouse.zip!/deep/er/mail.eml!/deep/deep/report.pdf:12", "Inspection of the lamp", width=62)
    assert row == " 1  …/lighthouse.zip!/mail.eml!/…/report.pdf:12  0.57"


def test_wide_characters_in_a_head_fit_the_width() -> None:
    for width in range(30, 80):
        assert cell_len(fitted("面包/" * 12 + "面包.md:7", "面包 > 面包面包面包面包面包", width=width)) <= width


def test_a_path_that_is_no_hit_stays_whole() -> None:
    assert "a" * 90 in fitted("a" * 90, "Accounting", width=40, style=Style.PATH)


def test_a_name_is_cut_at_its_end_and_what_stands_behind_it_is_shown() -> None:
    spans = (Span("12-40  "), Span("  a chapter with a name that never seems to end", Style.NAME), Span("  +3"))
    assert bare(styled([line(*spans)], width=40, environ={})) == ["12-40    a chapter with a name that…  +3"]


def test_wide_characters_fit_the_width() -> None:
    rows = bare(styled([line("面包" * 40, indent=6)], width=40, environ={}))
    assert len(rows) > 1
    assert max(map(cell_len, rows)) <= 40


def test_a_display_shows_phase_share_time_left_and_details() -> None:
    out = io.StringIO()
    progress = RunProgress(Phase.EMBEDDING, chunks_done=500, chunks_total=1000, n_failed=2)
    Console(file=out, width=80).print(progress_display(progress, Pace(50, 10), at=0))
    first, second = out.getvalue().splitlines()
    assert first.startswith("improving search by meaning ")
    assert first.endswith(" 50 %, about 10 s left")
    assert second.rstrip() == "500 of 1,000 passages, 50/s, 2 failed"


def test_a_display_in_steps_shows_those_that_are_over_above_the_bar() -> None:
    out, steps = io.StringIO(), IndexSteps()
    reading = RunProgress(Phase.READING, files_done=3, files_total=3, bytes_done=9, bytes_total=9)
    covering = RunProgress(Phase.COVERING, chunks_done=500, chunks_total=1000)
    for progress in (reading, covering):
        steps.observe(progress)
    Console(file=out, width=80).print(progress_display(covering, Pace(), at=0, steps=steps))
    first, second, third = out.getvalue().splitlines()
    assert first.rstrip() == "1/3 reading done, searchable by words now"
    assert re.match(r"2/3 meaning ━.* 50 %$", second)
    assert third.rstrip() == "500 of 1,000 passages"


def test_a_display_without_a_total_still_moves() -> None:
    drawn = []
    for at in (0.0, 0.5):
        out = io.StringIO()
        console = Console(file=out, width=80, force_terminal=True, color_system="standard")
        console.print(progress_display(RunProgress(Phase.WALKING, files_done=7), Pace(), at=at))
        drawn.append(out.getvalue())
    assert drawn[0] != drawn[1]


def test_the_live_display_leaves_nothing_behind() -> None:
    out = io.StringIO()
    display = LiveProgress(out, clock=lambda: 0.0)
    display.show()
    display(RunProgress(Phase.READING, bytes_done=1, bytes_total=2))
    display.hide()
    assert "reading" in out.getvalue()
    assert out.getvalue().rstrip("\n").endswith("\x1b[2K")


def test_a_run_that_has_to_stop_says_so_below_its_bar() -> None:
    out = io.StringIO()
    display = LiveProgress(out, clock=lambda: 0.0, steps=IndexSteps(), must_stop=lambda: True)
    display(RunProgress(Phase.EMBEDDING, chunks_done=1, chunks_total=2))
    display.show()
    display.hide()
    assert "stopping after the current batch; nothing that was read is lost" in out.getvalue()


@pytest.mark.parametrize("width", [80, 200])
def test_hits_of_every_kind_fit_and_show_their_lines(result: SearchResult, hit: Hit, width: int) -> None:
    hits = tuple(hit._replace(facts=FileFacts(kind)) for kind in FORMATS)
    lines = search_lines(result._replace(hits=hits), paths=PathStyle(), explain=True)
    rows = bare(styled(lines, width=width, environ={}))
    assert max(map(cell_len, rows)) <= width
    assert sum("Bake with steam," in row for row in rows) == len(FORMATS)


def test_code_is_coloured_and_prose_is_not(result: SearchResult, hit: Hit) -> None:
    code = hit._replace(text="def f():  # x\n    return 'a'\n", start_line=1)

    def shown(kind: str) -> str:
        lines = search_lines(result._replace(hits=(code._replace(facts=FileFacts(kind)),)), paths=PathStyle())
        return styled(lines, width=80, environ={})

    assert "\x1b[94mreturn" in shown("python")
    assert "\x1b[94mreturn" not in shown("markdown")


def test_headings_and_names_of_any_length_are_shortened_without_delay(hit: Hit) -> None:
    def row(path: str, heading: str = "") -> str:
        long = hit._replace(path=file_path(path), heading=heading, facts=FileFacts("markdown"))
        (shown,) = bare(styled([head_line(1, long, paths=PathStyle())], width=80, environ={}))
        assert cell_len(shown) <= 80
        return shown

    assert row("/a.md", " > ".join(["step"] * 100_000)).startswith(" 1  /a.md:12  … > step > ")
    assert row("/a.md", "漢 > " + "漢" * 100_000).endswith("…  2026-06-01  0.83")
    assert row(f"/a.zip!/{'漢' * 50_000}.md").startswith(" 1  /a.zip!/…漢")
    assert "…/mail.eml!/…ep/deep/deep/deep/deep/deep/inspection.pdf:12" in row(
        f"/{'long/' * 20}mail.eml!/{'deep/' * 20}inspection.pdf"
    )
    assert "lon…/mail.eml!/inspection.pdf:12" in row(f"/{'long/' * 20}mail.eml!/inspection.pdf")
