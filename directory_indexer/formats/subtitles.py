"""Subtitles (SubRip, WebVTT, YouTube, SubStation Alpha) and lyrics (LRC).

The words stay on the lines of the file, in sections by the minute. Numbers, times, settings and markup of cues are
blanked: they are no words, and would split sentences.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.formats.document import Document, Section, single_line


def extract_subtitles(text: str, kind: str) -> Document:
    """Return the words; a section begins at the first cue of each minute, and is named by its time."""
    lines = text.split("\n")
    cues = _cues(lines) if "-->" in text or not _STAMPED.search(text) else _stamped_cues(lines)
    spoken: list[str] = []
    sections: list[Section] = []
    length, minute = 0, -1
    for time, words in cues:
        if time and (began := _minutes(time)) != minute:
            minute = began
            sections.append(Section(length, (_format_time(time),)))
        spoken.append(words)
        length += len(words) + 1
    if not sections:
        return Document(text, kind)
    title = _TITLE.search(text)
    return Document("\n".join(spoken), kind, single_line(title[1]) if title else "", tuple(_from_start(sections)))


def _cues(lines: list[str]) -> Iterator[tuple[re.Match[str] | None, str]]:
    """Yield the time and the words of each line of block formats: SubRip, WebVTT, YouTube."""
    is_cue = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        time, words = _TIMES.match(line), ""
        if time:
            is_cue = True
        elif not line.strip():
            is_cue = False
        elif is_cue and not (_NUMBER.fullmatch(line) and _TIMES.match(following)):
            words = _spoken_words(line)
        yield time, words


def _stamped_cues(lines: list[str]) -> Iterator[tuple[re.Match[str] | None, str]]:
    """Yield the time and the words of each line of formats with a cue a line: SubStation Alpha, and lyrics."""
    for line in lines:
        time = _STAMPED.match(line)
        yield time, _spoken_words(_STAMPS.sub("", line[time.end() :])) if time else ""


def _from_start(sections: list[Section]) -> Iterator[Section]:
    if sections[0].start:
        yield Section(0)
    yield from sections


def _spoken_words(line: str) -> str:
    return html.unescape(_MARKUP.sub("", _BREAK.sub(" ", line))).replace("\n", " ").strip()


def _minutes(time: re.Match[str]) -> int:
    return int(time["hours"] or 0) * 60 + int(time["minutes"])


def _format_time(time: re.Match[str]) -> str:
    return f"{int(time['hours'] or 0)}:{time['minutes']}:{time['seconds']}"


_TIMES: Final = re.compile(
    r"\s*(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d\d?):(?P<seconds>\d\d)[.,]\d{1,3}"
    r"\s*(?:-->|,)\s*(?:\d{1,3}:)?\d\d?:\d\d[.,]\d{1,3}"
)
_NUMBER: Final = re.compile(r"\s*\d+\s*")
_MARKUP: Final = re.compile(r"<[^<>]{0,200}>|\{\\[^{}]{0,200}\}")
_BREAK: Final = re.compile(r"\\[Nnh]")
_CLOCK: Final = r"(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,3}):(?P<seconds>\d\d)"
_STAMPED: Final = re.compile(
    rf"^(?:Dialogue:[^,\n]*,[ ]*|\[){_CLOCK}(?:[.:]\d{{1,3}})?(?:\]|(?:,[^,\n]{{0,200}}){{7}},)", re.MULTILINE
)
_STAMPS: Final = re.compile(r"[\[<]\d{1,3}:\d\d(?:[.:]\d{1,3})?[\]>]")
_TITLE: Final = re.compile(r"^(?:Title:|\[ti:)[ ]*([^\]\n]{1,200})", re.MULTILINE)
