"""How source code becomes a document whose sections are its definitions, whatever the language.

All work is done on the UTF-8 bytes that tree-sitter speaks of; only the finished section starts become characters.
Nothing recurses and nothing scans a line twice, so deep nesting and 10 MB on one line cost what their size costs.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from directory_indexer.extractors.code_marks import Definition, Lead, marks_in
from directory_indexer.extractors.document import Document, Section
from directory_indexer.extractors.grammars import GRAMMARS

CODE_KINDS: frozenset[str] = frozenset(GRAMMARS)
"""The kinds of file that `extract_code` can read."""

# Ordinary code parses at 1 to 4 MB a second; what takes longer is generated, or broken in a way that is not worth it.
# Some parsers never ask: whoever calls must be able to do without this process.
_MAX_SECONDS = 15.0
_SECONDS = 1.0
_SECONDS_PER_MB = 5.0
_MAX_DEPTH = 8
_MAX_GAP = 200
_MAX_NEWLINES = 2
_MAX_LEADS = 500

_INDENTATION = re.compile(rb"[ \t]*")
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n[ \t]*\Z")
_COMMENT = rb"(?:[ \t;]*(?://|#|--|/\*)[^\n]{0,200})?"
_REST_OF_LINE = re.compile(rb"[ \t\r;,)\]}]{0,50}" + _COMMENT + rb"[ \t\r]*(?:\n|\Z)")
_SCRAP = re.compile(rb"(?:[)\]}]" + _COMMENT + rb"|\b(?:end|endif|fi|done|esac)\b" + _COMMENT + rb"|[^\w\x80-\xff])*+")


class _Part(NamedTuple):
    """A section in bytes."""

    start: int
    headings: tuple[str, ...]


class _Open(NamedTuple):
    """A definition that has begun and not ended, with the end of its first line and its symbol path."""

    definition: Definition
    line_end: int
    headings: tuple[str, ...]


def extract_code(text: str, kind: str, *, seconds: float | None = None) -> Document:
    """Cut source code into its definitions; where that takes more processor time than its size allows, leave it whole.

    `seconds` is another limit.
    """
    # A grammar takes NUL for the end of the file; one byte for one byte keeps every offset.
    source = text.encode("utf-8", "replace").replace(b"\0", b" ")
    allowed = min(_SECONDS + _SECONDS_PER_MB * len(source) / 1e6, _MAX_SECONDS) if seconds is None else seconds
    try:
        definitions, leads = marks_in(source, kind, deadline=time.thread_time() + allowed)
    except (TimeoutError, MemoryError):
        return Document(text, kind)
    parts = _without_scraps(source, list(_parts(source, definitions, leads)))
    return Document(text, kind, sections=tuple(_in_characters(parts, source, text)))


def _parts(source: bytes, definitions: Iterable[Definition], leads: list[Lead]) -> Iterator[_Part]:
    """Give a part for each definition, and one for what goes on around it when it has ended."""
    stack: list[_Open] = []
    floor = 0
    yield _Part(0, ())
    for definition in definitions:
        while stack and stack[-1].definition.end <= definition.start:
            floor = _end(source, stack.pop().definition.end, before=definition.start)
            yield _Part(floor, _headings(stack))
        if len(stack) == _MAX_DEPTH or (stack and _is_part_of(definition, stack[-1])):
            continue
        line_end = source.find(b"\n", definition.start) % (len(source) + 1)
        stack.append(_Open(definition, line_end, (*_headings(stack), *definition.names)))
        start = _start(source, definition.start, floor, leads)
        yield _Part(start, _headings(stack))
        floor = start + 1
    while stack:
        floor = _end(source, stack.pop().definition.end, before=len(source))
        yield _Part(floor, _headings(stack))


def _headings(stack: list[_Open]) -> tuple[str, ...]:
    return stack[-1].headings if stack else ()


def _is_part_of(inner: Definition, outer: _Open) -> bool:
    """Tell whether it is no section: on one line with the outer, or the same, as in `const store = class store {`."""
    return inner.end <= outer.line_end or (inner.names == outer.definition.names and inner.start <= outer.line_end)


def _end(source: bytes, end: int, *, before: int) -> int:
    """Move the end of a definition behind what closes its last line, unless another one begins there."""
    rest = _REST_OF_LINE.match(source, end)
    return rest.end() if rest and rest.end() <= before else end


def _start(source: bytes, start: int, floor: int, leads: list[Lead]) -> int:
    """Move the start of a definition over its line and over the comments and attributes directly above it."""
    line = _line_start(source, start, floor)
    if line is None:
        return start
    first = below = line
    indentation = _indentation(source, line)
    above = bisect_left(leads, (start,))
    for lead in reversed(leads[max(0, above - _MAX_LEADS) : above]):
        if lead.start < floor or not _touch(source, lead.end, below):
            break
        below = lead.start
        line = _line_start(source, below, floor)
        if line is not None and _indentation(source, line) == below - line == indentation:
            first = below = line
    return first


def _line_start(source: bytes, position: int, floor: int) -> int | None:
    """Find where the line begins, unless that is before `floor`."""
    newline = source.rfind(b"\n", floor, position)
    if newline >= 0:
        return newline + 1
    return floor if floor == 0 or source[floor - 1 : floor] == b"\n" else None


def _indentation(source: bytes, line: int) -> int:
    found = _INDENTATION.match(source, line)
    return found.end() - line if found else 0


def _touch(source: bytes, end: int, start: int) -> bool:
    """Tell whether at most one blank line lies between; some grammars count the end of its line to a comment."""
    if source[end - 1 : end] == b"\n":
        end -= 1
    return (
        end <= start <= end + _MAX_GAP
        and not source[end:start].strip()
        and source.count(b"\n", end, start) <= _MAX_NEWLINES
    )


def _without_scraps(source: bytes, parts: list[_Part]) -> list[_Part]:
    """Leave out parts that hold nothing but closing brackets, and beginnings of what only goes on."""
    kept: list[_Part] = []
    for part, following in pairwise((*parts, _Part(len(source), ()))):
        is_continued = kept and kept[-1].headings == part.headings and not _after_blank_line(source, part.start)
        if not is_continued and not _SCRAP.fullmatch(source, part.start, following.start):
            kept.append(part if kept else part._replace(start=0))
    return kept


def _after_blank_line(source: bytes, start: int) -> bool:
    return _BLANK_LINE.search(source, max(0, start - _MAX_GAP), start) is not None


def _in_characters(parts: list[_Part], source: bytes, text: str) -> Iterator[Section]:
    """Turn byte offsets into character offsets; one pass, and none at all where they are the same."""
    n_bytes = n_characters = 0
    for part in parts:
        n_new = part.start - n_bytes
        n_characters += n_new if len(source) == len(text) else len(source[n_bytes : part.start].decode())
        n_bytes = part.start
        yield Section(n_characters, part.headings)
