"""Subtitles: what is said stays on its line, and all else is blanked."""

from __future__ import annotations

from directory_indexer.formats.subtitles import extract_subtitles

SUBRIP = """1
00:00:59,000 --> 00:01:01,500
<i>Mind</i> the gap &amp; the step,

2
00:01:02,000 --> 00:01:04,000
it is deeper
than it looks.

3
00:12:30,000 --> 00:12:33,000
{\\an8}42
"""


def test_what_is_said_stays_on_its_line() -> None:
    lines = extract_subtitles(SUBRIP, "subtitles").text.split("\n")
    assert lines[2] == "Mind the gap & the step,"
    assert lines[6:8] == ["it is deeper", "than it looks."]
    assert lines[11] == "42"
    assert [line for number, line in enumerate(lines) if number not in (2, 6, 7, 11)] == [""] * (len(lines) - 4)


def test_sections_tell_the_minute() -> None:
    sections = extract_subtitles(SUBRIP, "subtitles").sections
    assert [section.headings for section in sections] == [(), ("0:00:59",), ("0:01:02",), ("0:12:30",)]


def test_cues_without_an_empty_line_between_them_are_told_apart() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nfirst\n2\n00:00:03,000 --> 00:00:04,000\nsecond\n"
    assert extract_subtitles(text, "subtitles").text.split() == ["first", "second"]


def test_notes_styles_and_settings_of_webvtt_are_left_out() -> None:
    text = (
        "WEBVTT - a film\n\nNOTE made by hand\n\nSTYLE\n::cue { color: red }\n\nintro\n"
        "00:01.000 --> 00:02.000 align:start\n<v Ada>Hello <c.loud>there</c>\n"
    )
    assert extract_subtitles(text, "subtitles").text.split() == ["Hello", "there"]


def test_a_file_without_cues_is_a_text() -> None:
    assert extract_subtitles("no cue\nin here\n", "subtitles").text == "no cue\nin here\n"
