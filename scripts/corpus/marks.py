"""Finds the texts of an XML or HTML file by its tags alone, with no parser: independent of every reader."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

_TOKEN = re.compile(r"<!--.*?-->|<!\[CDATA\[(.*?)\]\]>|<[?!][^>]*>|<(/?)([^\s/>]+)[^>]*?(/?)>|([^<]+)", re.DOTALL)


class Marks(NamedTuple):
    """Elements that hold text, hold none for people, or end a word; by names without prefix."""

    within: frozenset[str]
    """Text counts in these; in all if there are none."""

    without: frozenset[str] = frozenset()
    breaks: frozenset[str] = frozenset()


def text_of(content: bytes, marks: Marks) -> str:
    """Return the text between the tags, with a blank where a word ends."""
    n_within = n_without = 0
    pieces: list[str] = []
    for match in _TOKEN.finditer(_decoded(content)):
        literal, closing, name, empty, text = match.groups()
        if name:
            step = 0 if empty else -1 if closing else 1
            local = name.rpartition(":")[2]
            n_within += step * (local in marks.within)
            n_without = max(0, n_without + step * (local in marks.without))
            if local in marks.breaks:
                pieces.append(" ")
        elif (text or literal) and not n_without and (n_within > 0 or not marks.within):
            pieces.append(literal or html.unescape(text))
    return "".join(pieces)


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    declared = re.search(rb"""(?:encoding|charset)=["']?([\w-]+)""", content[:1024])
    try:
        return content.decode(declared[1].decode() if declared else "utf-8", "replace")
    except LookupError:
        return content.decode("utf-8", "replace")
