"""reStructuredText: titles by their adornment, with levels in the order in which the adornments first appear.

A line scanner, because docutils runs directives, writes to stderr and reads 0.3 MB/s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.extractors.document import Document
from directory_indexer.extractors.front_matter import read_keywords
from directory_indexer.extractors.markdown import title_of
from directory_indexer.extractors.outline import Heading, one_line, sections_of


def extract_restructuredtext(text: str, kind: str) -> Document:
    """Return a reStructuredText with its section titles."""
    headings = tuple(_adorned_headings(text))
    return Document(text, kind, title_of(headings), sections_of(headings), metadata=read_keywords(text, kind))


def _adorned_headings(text: str) -> Iterator[Heading]:
    levels: dict[tuple[str, bool], int] = {}
    end_of_last = 0
    for underline in _UNDERLINED.finditer(text):
        if underline.start() < end_of_last or not _is_title(underline):
            continue
        over = _overline(text, underline)
        style = (underline["adornment"][0], over is not None)
        start = underline.start() if over is None else over
        yield Heading(start, levels.setdefault(style, len(levels) + 1), _plain_text(underline["title"]))
        end_of_last = underline.end()


def _is_title(underline: re.Match[str]) -> bool:
    title, adornment = underline["title"].rstrip(), underline["adornment"]
    if title[0] == adornment[0] and title == title[0] * len(title):
        return False
    # Docutils warns of an underline that is too short, but accepts it from four characters on.
    return len(adornment) >= min(len(title.lstrip()), _MIN_SHORT_ADORNMENT)


def _overline(text: str, underline: re.Match[str]) -> int | None:
    """Return the start of the line above if it repeats the adornment; an indented title needs one."""
    end = underline.start() - 1
    start = text.rfind("\n", 0, max(end, 0)) + 1
    return start if end > 0 and text[start:end].rstrip() == underline["adornment"] else None


def _plain_text(title: str) -> str:
    return one_line(_ROLE.sub(r"\1", one_line(title)).replace("``", "").replace("`", "").replace("**", ""))


_MIN_SHORT_ADORNMENT: Final = 4
_UNDERLINED: Final = re.compile(
    r"^(?P<title>(?!\.\. )(?:\S|[ ]{1,8}\S)[^\n]*)\n(?P<adornment>([!-/:-@\[-`{-~])\3+)[ \t]*$", re.MULTILINE
)
_ROLE: Final = re.compile(r":[\w:-]{1,40}:`([^`<]*?)(?:\s*<[^`]*>)?`")
