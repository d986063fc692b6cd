"""Lines of styled text, independent of whether a terminal or a pipe gets them.

Texts are unescaped here; the writers escape them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum, auto
from typing import NamedTuple

from directory_indexer.render.printable import single_line


class Style(StrEnum):
    """The role of a span; a terminal may colour it, but the words must convey it, too."""

    PLAIN = auto()
    PATH = auto()
    HIT = auto()
    """The path of a hit, which may be shortened, since its text is shown below it."""
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
    """A piece of text in one style, with an optional link."""

    text: str
    style: Style = Style.PLAIN
    link: str = ""


class Line(NamedTuple):
    """One line, or a paragraph with a hanging indent; `head` is written in the indent."""

    spans: tuple[Span, ...]
    indent: int = 0
    head: Span = Span("")


def line(*spans: Span | str, indent: int = 0, head: Span | str = "") -> Line:
    """Build a line; a bare string is plain text."""
    first, *others = (Span(span) if isinstance(span, str) else span for span in (head, *spans))
    return Line(tuple(others), indent, first)


def plain(lines: Iterable[Line]) -> str:
    """Format lines for a pipe: without colour, each on a line of its own, whatever the names contain."""
    return "".join(f"{_plain(styled_line).rstrip()}\n" for styled_line in lines)


def _plain(styled_line: Line) -> str:
    return single_line(styled_line.head.text).ljust(styled_line.indent) + "".join(
        single_line(span.text) for span in styled_line.spans
    )
