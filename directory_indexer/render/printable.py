"""Escaping of untrusted names and texts for terminals and pipes.

A hostile file name can contain escape sequences, line breaks, marks that reverse the direction of writing and invisible
characters. All of them are written as Python escapes. In a pipe tabs are escaped, too, and bytes that are not UTF-8 are
kept. JSON is exact.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple
from urllib.parse import quote_from_bytes

from directory_indexer.paths import FilePath, exact_text

_CONTROLS = "\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029"
_DIRECTION_MARKS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180e\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
)
"""Fillers, tags and controls. Characters that some script needs are not escaped: joiners, and word-break opportunities.
"""
_UNDECODED = "\ud800-\udfff"
_BYTE_OFFSET = 0xDC00
_UNDECODED_BYTES = range(_BYTE_OFFSET + 0x80, _BYTE_OFFSET + 0x100)
"""Surrogates by which Python represents bytes of file names that are not UTF-8."""
# Compiled on first use: a search needs only one of them.
_NOT_FOR_TERMINALS = f"[{_CONTROLS}{_DIRECTION_MARKS}{_INVISIBLE}{_UNDECODED}]"
_NOT_FOR_LINES = f"[{_CONTROLS}\t{_DIRECTION_MARKS}{_INVISIBLE}]"


def printable(text: str) -> str:
    """Escape characters that are not printable on a terminal; tabs stay."""
    return re.sub(_NOT_FOR_TERMINALS, _escape, text)


def single_line(text: str) -> str:
    """Escape characters that would break a line, a column or the direction of text.

    Bytes that are not UTF-8 stay for programs that read paths.
    """
    return re.sub(_NOT_FOR_LINES, _escape, text)


class PathStyle(NamedTuple):
    """Style of paths: shortened relative to these directories, or absolute if there are none."""

    working_directory: str = ""
    home: str = ""

    def format(self, path: FilePath) -> str:
        """Return the shortest way to write a path."""
        exact = exact_text(path)
        below_work = _below(exact, self.working_directory)
        below_home = _below(exact, self.home)
        from_home = None if below_home is None else f"~{os.sep}{below_home}".rstrip(os.sep)
        return min(filter(None, (below_work, from_home, exact)), key=len)

    def exact(self, path: FilePath) -> str:
        """Return a path for a program: relative to the working directory if below it, never starting like an option."""
        exact = exact_text(path)
        below = _below(exact, self.working_directory) or exact
        return f".{os.sep}{below}" if below.startswith("-") else below


def file_uri(path: FilePath, *, page: int | None = None) -> str:
    """Return the link that opens a file, at a page if it has pages."""
    location = os.fsencode(exact_text(path)).replace(os.sep.encode(), b"/")
    slash = "" if location.startswith(b"/") else "/"
    fragment = f"#page={page}" if page else ""
    return f"file://{slash}{quote_from_bytes(location)}{fragment}"


def _below(path: str, directory: str) -> str | None:
    """Return the rest of a path below a directory, or None if it is elsewhere."""
    if not directory:
        return None
    start = directory.rstrip(os.sep) + os.sep
    if path == directory:
        return ""
    return path[len(start) :] if path.startswith(start) else None


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if ord(character) in _UNDECODED_BYTES:
        return f"\\x{ord(character) - _BYTE_OFFSET:02x}"
    return character.encode("unicode_escape").decode("ascii")
