"""Lines of styled text, before it is known whether a terminal or a pipe gets them.

Texts stand here as they are; whoever writes them out makes them harmless.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum, auto
from typing import NamedTuple

from directory_indexer.render.printable import single_line


class Style(StrEnum):
    """What a stretch of text is; a terminal may colour it, but the words must say it too."""

    PLAIN = auto()
    PATH = auto()
    HIT = auto()
    """The path of a hit, which may be shortened, since its text stands below it."""
    NAME = auto()
    """A name that may be cut at its end."""
    MATCH = auto()
    PLACE = auto()
    NUMBER = auto()
    NOTE = auto()
    GOOD = auto()
    WARNING = auto()
    PROBLEM = auto()
    KEYWORD = auto()
    LITERAL = auto()
    DEFINITION = auto()


class Span(NamedTuple):
    """A stretch of text of one style, which may open a file when it is clicked."""

    text: str
    style: Style = Style.PLAIN
    link: str = ""


class Line(NamedTuple):
    """One line, or a paragraph that goes on below its own indentation; `head` stands in the indentation."""

    spans: tuple[Span, ...]
    indent: int = 0
    head: Span = Span("")


def line(*spans: Span | str, indent: int = 0, head: Span | str = "") -> Line:
    """Put a line together; a bare string is plain text."""
    first, *others = (Span(span) if isinstance(span, str) else span for span in (head, *spans))
    return Line(tuple(others), indent, first)


def plain(lines: Iterable[Line]) -> str:
    """Write lines for a pipe: without colour, and each on a line of its own, whatever names it holds."""
    return "".join(f"{_plain(one).rstrip()}\n" for one in lines)


def _plain(one: Line) -> str:
    return single_line(one.head.text).ljust(one.indent) + "".join(single_line(span.text) for span in one.spans)
