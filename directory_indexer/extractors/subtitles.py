"""Subtitles (SubRip, WebVTT, YouTube): what is said, on the very lines of the file, in sections that tell the minute.

Numbers, times, settings and markup of cues are blanked: they are no words, and would part a sentence in two.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.extractors.document import Document, Section


def extract_subtitles(text: str, kind: str) -> Document:
    """Keep what is said; a section begins at the first cue of each minute, and is called by the time of that."""
    lines = text.split("\n")
    spoken: list[str] = []
    sections: list[Section] = []
    length, minute, is_cue = 0, -1, False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        said = ""
        if time := _TIMES.match(line):
            is_cue = True
            if (began := _minutes(time)) != minute:
                minute = began
                sections.append(Section(length, (_shown(time),)))
        elif not line.strip():
            is_cue = False
        elif is_cue and not (_NUMBER.fullmatch(line) and _TIMES.match(following)):
            said = _said(line)
        spoken.append(said)
        length += len(said) + 1
    if not sections:
        return Document(text, kind)
    return Document("\n".join(spoken), kind, "", tuple(_from_start(sections)))


def _from_start(sections: list[Section]) -> Iterator[Section]:
    if sections[0].start:
        yield Section(0)
    yield from sections


def _said(line: str) -> str:
    return html.unescape(_MARKUP.sub("", line)).replace("\n", " ").strip()


def _minutes(time: re.Match[str]) -> int:
    return int(time["hours"] or 0) * 60 + int(time["minutes"])


def _shown(time: re.Match[str]) -> str:
    return f"{int(time['hours'] or 0)}:{time['minutes']}:{time['seconds']}"


_TIMES: Final = re.compile(
    r"\s*(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d\d?):(?P<seconds>\d\d)[.,]\d{1,3}"
    r"\s*(?:-->|,)\s*(?:\d{1,3}:)?\d\d?:\d\d[.,]\d{1,3}"
)
_NUMBER: Final = re.compile(r"\s*\d+\s*")
_MARKUP: Final = re.compile(r"<[^<>]{0,200}>|\{\\[^{}]{0,200}\}")
