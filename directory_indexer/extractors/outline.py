"""Sections of a document, made from its headings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from directory_indexer.extractors.document import Section

_MAX_TITLE_CHARACTERS: Final = 200
"""A heading goes into every chunk below it, so a hostile one must not multiply."""


class Heading(NamedTuple):
    """A heading that begins at character `start` of the text; level 1 is the outermost."""

    start: int
    level: int
    title: str


def sections_of(headings: Iterable[Heading]) -> tuple[Section, ...]:
    """Return a section for each heading, with the headings around it, and one for what precedes the first heading."""
    sections = [Section(0)]
    path: list[Heading] = []
    for heading in headings:
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        section = Section(heading.start, tuple(outer.title for outer in path))
        if section.start == sections[-1].start:
            sections[-1] = section
        else:
            sections.append(section)
    return tuple(sections)


def one_line(title: str) -> str:
    """Return a title on one line of bounded length."""
    return " ".join(title[: 2 * _MAX_TITLE_CHARACTERS].split())[:_MAX_TITLE_CHARACTERS]
