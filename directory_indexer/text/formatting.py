"""Lines of styled text, escaping of untrusted text, and formatting of numbers, sizes and times for people.

Pure: the current time is an argument. Lines are independent of whether a terminal or a pipe gets them; the writers
escape them.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from enum import StrEnum, auto
from typing import NamedTuple
from urllib.parse import quote_from_bytes

from directory_indexer.core.paths import FilePath, escape_surrogate, exact_text

_CONTROLS = "\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029"
_DIRECTION_MARKS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180e\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
)
"""Fillers, tags and controls. Characters that some script needs are not escaped: joiners, and word-break opportunities.
"""
_UNDECODED = "\ud800-\udfff"
"""Surrogates, by which Python represents bytes of file names that are not UTF-8."""
# Compiled on first use: a search needs only one of them.
_NOT_FOR_TERMINALS = f"[{_CONTROLS}{_DIRECTION_MARKS}{_INVISIBLE}{_UNDECODED}]"
_NOT_FOR_LINES = f"[{_CONTROLS}\t{_DIRECTION_MARKS}{_INVISIBLE}]"

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_MIN_FOUR_DIGITS = 1000
_TWO_DIGITS = 9.95  # rounds to 10
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_AGE_UNITS = ((365 * _DAY, "year"), (30 * _DAY, "month"), (_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"))


class Style(StrEnum):
    """The role of a span; a terminal may colour it, but the words must convey it, too."""

    PLAIN = auto()
    PATH = auto()
    SHORTENED_PATH = auto()
    """A path that a terminal may shorten where the line does not fit."""
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
    return "".join(f"{_plain_line(styled_line).rstrip()}\n" for styled_line in lines)


def printable(text: str) -> str:
    """Escape characters that are not printable on a terminal; tabs stay."""
    return re.sub(_NOT_FOR_TERMINALS, _escape_character, text)


def single_line(text: str) -> str:
    """Escape characters that would break a line, a column or the direction of text.

    Bytes that are not UTF-8 stay for programs that read paths.
    """
    return re.sub(_NOT_FOR_LINES, _escape_character, text)


class PathStyle(NamedTuple):
    """Style of paths: shortened relative to these directories, or absolute if there are none."""

    working_directory: str = ""
    home: str = ""

    def format(self, path: FilePath) -> str:
        """Return the shortest way to write a path."""
        exact = exact_text(path)
        below_work = _relative_below(exact, self.working_directory)
        below_home = _relative_below(exact, self.home)
        from_home = None if below_home is None else f"~{os.sep}{below_home}".rstrip(os.sep)
        return min(filter(None, (below_work, from_home, exact)), key=len)

    def exact(self, path: FilePath) -> str:
        """Return a path for a program: relative to the working directory if below it, never starting like an option."""
        exact = exact_text(path)
        below = _relative_below(exact, self.working_directory) or exact
        return f".{os.sep}{below}" if below.startswith("-") else below


def file_uri(path: FilePath, *, page: int | None = None) -> str:
    """Return the link that opens a file, at a page if it has pages."""
    location = os.fsencode(exact_text(path)).replace(os.sep.encode(), b"/")
    slash = "" if location.startswith(b"/") else "/"
    fragment = f"#page={page}" if page else ""
    return f"file://{slash}{quote_from_bytes(location)}{fragment}"


def count(n: int, noun: str, plural: str = "") -> str:
    """Format a count: `1 file`, `12,000 files`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def size(n_bytes: float) -> str:
    """Format a size with two or three digits: `980 B`, `1.2 MiB`, `34 GiB`."""
    unit = 0
    while round(n_bytes) >= _MIN_FOUR_DIGITS and unit < len(_UNITS) - 1:
        n_bytes /= 1024
        unit += 1
    return f"{n_bytes:.1f} {_UNITS[unit]}" if unit and n_bytes < _TWO_DIGITS else f"{n_bytes:,.0f} {_UNITS[unit]}"


def file_counts(n_indexed: int, n_skipped: int, n_failed: int = 0) -> str:
    """Format the files that are indexed and those that are not, alike in every report: `14 files + 3 skipped`."""
    return count(n_indexed, "file") + missing_counts(n_skipped, n_failed)


def missing_counts(n_skipped: int, n_failed: int) -> str:
    """Format the files that are not indexed, to be appended to those that are: ` + 3 skipped + 1 failed`."""
    return "".join(f" + {n:,} {kind}" for kind, n in {"skipped": n_skipped, "failed": n_failed}.items() if n)


def duration(seconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 2 h`."""
    if seconds < _TWO_DIGITS:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def time_ago(then: float, *, now: float) -> str:
    """Format an age: `just now`, `3 minutes ago`, `2 years ago`."""
    seconds = int(now - then)
    for unit_seconds, unit in _AGE_UNITS:
        if seconds >= unit_seconds:
            return f"{count(seconds // unit_seconds, unit)} ago"
    return "just now"


def day(moment: float) -> str:
    """Format the local date of a moment, as filters accept it."""
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def percent(part: int, whole: int) -> str:
    """Format a share; only what is complete is 100 %, and only nothing is 0 %."""
    if not whole:
        return "-"
    if 0 < part * 100 < whole:
        return "<1 %"
    return f"{part * 100 // whole} %"


def _plain_line(styled_line: Line) -> str:
    return single_line(styled_line.head.text).ljust(styled_line.indent) + "".join(
        single_line(span.text) for span in styled_line.spans
    )


def _relative_below(path: str, directory: str) -> str | None:
    """Return the rest of a path below a directory, or None if it is elsewhere."""
    if not directory:
        return None
    start = directory.rstrip(os.sep) + os.sep
    if path == directory:
        return ""
    return path[len(start) :] if path.startswith(start) else None


def _escape_character(match: re.Match[str]) -> str:
    if "\ud800" <= match[0] <= "\udfff":
        return escape_surrogate(match)
    return match[0].encode("unicode_escape").decode("ascii")
