"""Subtitles (SubRip, WebVTT, YouTube, SubStation Alpha) and lyrics (LRC).

The words stay on the lines of the file, in sections by the minute. Numbers, times, settings and markup of cues are
blanked: they are no words, and would split sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from directory_indexer.formats.document import Document, Section, decode_references, single_line

Cue = tuple[int | None, str]
"""The second at which a line begins, None if it is no beginning, and the words on it."""


def extract_subtitles(text: str, kind: str) -> Document:
    """Return the words; a section begins at the first cue of each minute, and is named by its time."""
    lines = text.split("\n")
    cues = _cues(lines) if "-->" in text or not _STAMPED.search(text) else _stamped_cues(lines)
    spoken, sections = transcript((_seconds(time), words) for time, words in cues)
    if not sections:
        return Document(text, kind)
    if sections[0].start:
        sections.insert(0, Section(0))
    title = _TITLE.search(text)
    return Document(spoken, kind, single_line(title[1]) if title else "", tuple(sections))


def transcript(cues: Iterable[Cue], *, start: int = 0, headings: tuple[str, ...] = ()) -> tuple[str, list[Section]]:
    """Return the words of cues from character `start` on, a line each, and a section for each minute below headings."""
    spoken: list[str] = []
    sections: list[Section] = []
    minute = -1
    for seconds, words in cues:
        if seconds is not None and seconds // 60 != minute:
            minute = seconds // 60
            sections.append(Section(start, (*headings, f"{minute // 60}:{minute % 60:02}:{seconds % 60:02}")))
        spoken.append(words)
        start += len(words) + 1
    return "\n".join(spoken), sections


def _seconds(time: re.Match[str] | None) -> int | None:
    return time and (int(time["hours"] or 0) * 60 + int(time["minutes"])) * 60 + int(time["seconds"])


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
            words = spoken_words(line)
        yield time, words


def _stamped_cues(lines: list[str]) -> Iterator[tuple[re.Match[str] | None, str]]:
    """Yield the time and the words of each line of formats with a cue a line: SubStation Alpha, and lyrics."""
    for line in lines:
        time = _STAMPED.match(line)
        yield time, spoken_words(_STAMPS.sub("", line[time.end() :])) if time else ""


def spoken_words(line: str) -> str:
    """Return the words of a line without its markup."""
    return decode_references(_MARKUP.sub("", _BREAK.sub(" ", line))).replace("\n", " ").strip()


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
