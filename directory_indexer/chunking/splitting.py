"""Chunking of a document: its sections are measured, grouped if small, and split if large."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, groupby, pairwise
from operator import itemgetter
from string import ascii_uppercase
from typing import Final, NamedTuple

from directory_indexer.chunking import ChunkPolicy, LineWeights
from directory_indexer.chunking.chunks import HEADING_SEPARATOR, Chunk, LineCut, SheetRows, format_rows
from directory_indexer.chunking.cuts import Ruler, Unit, cut, sentence_starts
from directory_indexer.formats.document import CellMark, Document, Section


def cut_document(
    document: Document, policy: ChunkPolicy, count_tokens: Callable[[str], int], weigh_lines: LineWeights | None
) -> tuple[Chunk, ...]:
    """Split a document into chunks according to the policy."""
    flows = list(_flows_of_document(document))
    if not flows:
        return ()
    ruler = Ruler(document.text, count_tokens, weigh_lines, most_tokens=policy.size)
    # A heading is counted for its section, and again for each of its chunks.
    cutter = _Cutter(ruler, policy, lru_cache(maxsize=256)(count_tokens))
    sections = [_measure_flow(flow, cutter) for flow in flows]
    pieces = chain.from_iterable(_pieces_of_group(group, cutter) for group in _group_small_sections(sections, policy))
    return tuple(_chunks(document, pieces))


class _Cutter(NamedTuple):
    """The context of chunking one document."""

    ruler: Ruler
    policy: ChunkPolicy
    count_tokens: Callable[[str], int]


class _TextFlow(NamedTuple):
    """A range of text under one heading; `strength` is the quality of its start as a cut."""

    start: int
    end: int
    headings: tuple[str, ...]
    strength: int
    is_apart: bool


class _Section(NamedTuple):
    """A flow with its cost: `unit` is None if it exceeds a chunk."""

    flow: _TextFlow
    n_heading_tokens: int
    unit: Unit | None
    is_small: bool


class _Piece(NamedTuple):
    """A future chunk: its own text from `start` to `end`, preceded by the overlap with the previous piece."""

    shared_start: int
    start: int
    end: int
    n_tokens: int
    heading: str


def _flows_of_document(document: Document) -> Iterator[_TextFlow]:
    """Yield the text under each heading, across page boundaries; a blank section belongs to the previous one."""
    sections = document.sections or (Section(0),)
    starts: list[Section] = []
    page: int | None = None
    for section, following in pairwise((*sections, Section(len(document.text)))):
        if not _CHARACTER.search(document.text, section.start, following.start):
            continue
        is_next_page = starts and section.page != page and section.headings == starts[-1].headings
        page = section.page
        if not is_next_page:
            starts.append(section if starts else section._replace(start=0))
    above: tuple[str, ...] = ()
    for section, following in pairwise((*starts, Section(len(document.text)))):
        depth = min(len(_common_heading_prefix((above, section.headings))), _MAX_DEPTH)
        strength = _SECTION_STRENGTH - depth * _DEPTH_STRENGTH
        yield _TextFlow(section.start, following.start, section.headings, strength, section.is_apart)
        above = section.headings


def _measure_flow(flow: _TextFlow, cutter: _Cutter) -> _Section:
    ruler, policy, count_tokens = cutter
    n_heading_tokens = min(count_tokens(HEADING_SEPARATOR.join(flow.headings)), policy.size // 4)
    capacity = policy.size - _N_MARKS - n_heading_tokens
    unit = ruler.unit(flow.start, flow.end, flow.strength, capacity)
    if unit is None or 2 * unit.cost > capacity or flow.is_apart:
        return _Section(flow, n_heading_tokens, unit, is_small=False)
    # The heading of a chunk lists the names of all its sections, separated by commas.
    n_name_tokens = min(count_tokens(flow.headings[-1]) + 1, n_heading_tokens) if flow.headings else 0
    return _Section(flow, n_heading_tokens, unit._replace(cost=unit.cost + n_name_tokens), is_small=True)


def _group_small_sections(sections: Iterable[_Section], policy: ChunkPolicy) -> list[list[_Section]]:
    """Group sections that may share chunks: small neighbours, and a scrap with the large section after it."""
    groups: list[list[_Section]] = []
    scrap: list[_Section] = []
    for is_small, run in groupby(sections, lambda section: section.is_small):
        if not is_small:
            groups.extend([*(scrap if index == 0 else ()), section] for index, section in enumerate(run))
            scrap = []
            continue
        small = list(run)
        if sum(section.unit.cost for section in small if section.unit) * _SCRAP_SHARE < policy.size:
            scrap = small
        else:
            groups.append(small)
    if scrap:
        groups[-1:] = [[*chain.from_iterable(groups[-1:]), *scrap]]
    return groups


def _pieces_of_group(group: list[_Section], cutter: _Cutter) -> Iterator[_Piece]:
    starts = [section.flow.start for section in group]
    previous: list[Unit] = []
    for units in _cut_group(group, cutter):
        start, end = units[0].start, units[-1].end
        first = bisect_right(starts, start) - 1
        is_continued = starts[first] < start
        shared_start, n_shared_tokens = (
            _overlap_with_previous(previous, starts[first], cutter) if is_continued else (start, 0)
        )
        n_tokens = n_shared_tokens + sum(map(_N_TOKENS, units))
        paths = [section.flow.headings for section in group[first : bisect_left(starts, end)]]
        heading, n_heading_tokens = _heading(paths, cutter.policy.size - _N_MARKS - n_tokens, cutter.count_tokens)
        yield _Piece(shared_start, start, end, n_tokens + n_heading_tokens, heading)
        previous = units


def _cut_group(group: list[_Section], cutter: _Cutter) -> Iterator[list[Unit]]:
    ruler, policy, _ = cutter
    capacity = policy.size - _N_MARKS - max(section.n_heading_tokens for section in group)
    units = [section.unit for section in group if section.unit]
    if len(units) == len(group) and (all(section.is_small for section in group) or len(group) == 1):
        return cut(units, capacity, ruler.strength)
    if len(units) == len(group) and sum(unit.cost for unit in units) <= capacity:
        return iter([units])
    capacity -= _overlap_tokens(policy)
    return cut(chain.from_iterable(_units(section, ruler, capacity) for section in group), capacity, ruler.strength)


def _units(section: _Section, ruler: Ruler, capacity: int) -> Iterable[Unit]:
    if section.unit and 2 * section.unit.cost <= capacity:
        return (section.unit,)
    flow = section.flow
    return ruler.units(flow.start, flow.end, flow.strength, capacity)


def _overlap_tokens(policy: ChunkPolicy) -> int:
    return min(policy.overlap, policy.size // 4)


def _overlap_with_previous(previous: Sequence[Unit], section_start: int, cutter: _Cutter) -> tuple[int, int]:
    """Return the overlap of a piece with the previous one in the same section: whole lines, or else whole sentences."""
    text, most, count_tokens = cutter.ruler.text, _overlap_tokens(cutter.policy), cutter.count_tokens
    start, n_tokens = previous[-1].end, 0
    for unit in reversed(previous[1:]):
        if unit.start < section_start or n_tokens + unit.n_tokens > most:
            break
        start, n_tokens = unit.start, n_tokens + unit.n_tokens
    if n_tokens:
        return start, n_tokens
    for sentence in reversed(sentence_starts(text, previous[-1].start, previous[-1].end)):
        n_more = count_tokens(text[sentence:start])
        if n_tokens + n_more > most:
            break
        start, n_tokens = sentence, n_tokens + n_more
    return start, n_tokens


def _heading(paths: Sequence[tuple[str, ...]], n_allowed: int, count_tokens: Callable[[str], int]) -> tuple[str, int]:
    """Return the heading of a chunk: the common path of its sections, then their next names."""
    common = _common_heading_prefix(paths)
    names = list(dict.fromkeys(path[len(common)] for path in paths if len(path) > len(common)))
    outer = list(common)
    while True:
        heading = HEADING_SEPARATOR.join([*outer, ", ".join(names)] if names else outer)
        n_tokens = count_tokens(heading)
        if n_tokens <= n_allowed or not heading:
            return heading, n_tokens
        if len(names) > 1:
            names.pop()
        elif len(outer) + len(names) > 1:
            outer.pop(0)
        else:
            outer, names = [heading[: len(heading) // 2]], []


def _common_heading_prefix(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    if len(paths) == 1:
        return paths[0]
    # The common prefix of the first and the last in order is that of all.
    first, last = min(paths), max(paths)
    if first == last[: len(first)]:
        return first
    return first[: next(depth for depth, (name, other) in enumerate(zip(first, last, strict=False)) if name != other)]


def _chunks(document: Document, pieces: Iterable[_Piece]) -> Iterator[Chunk]:
    text = document.text
    has_pages = any(section.page is not None for section in document.sections)
    page_starts = [section.start for section in document.sections] if has_pages else []
    rows = _SheetLines(document) if document.cells else None
    position, line = 0, 1
    for ordinal, (shared_start, start, end, n_tokens, heading) in enumerate(pieces):
        line += text.count("\n", position, start)
        position = start
        start_line = line - text.count("\n", shared_start, start) if shared_start < start else line
        end_line = line + text.count("\n", start, end - 1)
        yield Chunk(
            ordinal=ordinal,
            text=text[shared_start:end],
            n_tokens=n_tokens,
            start_char=shared_start,
            end_char=end,
            start_line=start_line,
            end_line=end_line,
            page=_page_at(document, page_starts, shared_start) if has_pages else None,
            heading=heading,
            cell=format_rows(rows.between(start_line, end_line)) if rows else "",
            line_cut=_line_cut(text, shared_start),
        )


def _page_at(document: Document, starts: list[int], start: int) -> int | None:
    match = _CHARACTER.search(document.text, start)
    index = bisect_right(starts, match.start() if match else start) - 1
    return document.sections[index].page if index >= 0 else None


class _SheetLines:
    """The lines of a document that are rows of spreadsheets."""

    def __init__(self, document: Document) -> None:
        self._marks = document.cells
        starts = (0, *(mark.start for mark in self._marks))
        n_lines = (document.text.count("\n", *between) for between in pairwise(starts))
        self._lines = list(accumulate(n_lines, initial=1))[1:]

    def between(self, start_line: int, end_line: int) -> list[SheetRows]:
        """Return the rows on these lines; consecutive ones that begin in the same column are one entry."""
        rows: list[SheetRows] = []
        for at in range(bisect_left(self._lines, start_line), bisect_right(self._lines, end_line)):
            line, (column, number) = self._lines[at] - start_line, _parse_place(self._marks[at])
            last = rows[-1] if rows else None
            if last and (last.line + last.n_rows, last.column, last.number + last.n_rows) == (line, column, number):
                rows[-1] = last._replace(n_rows=last.n_rows + 1)
            else:
                rows.append(SheetRows(line, 1, column, number))
        return rows


def _parse_place(mark: CellMark) -> tuple[str, int]:
    place = mark.cell.rpartition("!")[2]
    number = place.lstrip(ascii_uppercase)
    return place.removesuffix(number), int(number)


def _line_cut(text: str, start: int) -> LineCut:
    if start == 0 or text[start - 1] == "\n":
        return LineCut.NONE
    is_in_word = all(unicodedata.category(char)[0] in _IN_WORDS for char in text[start - 1 : start + 1])
    return LineCut.IN_WORD if is_in_word else LineCut.BETWEEN_WORDS


_CHARACTER: Final = re.compile(r"\S")
_N_TOKENS: Final[Callable[[Unit], int]] = itemgetter(Unit._fields.index("n_tokens"))
_IN_WORDS: Final = "LNMC"
"""Categories of characters in words, and of invisible ones."""

_N_MARKS: Final = 2
_SCRAP_SHARE: Final = 8
_SECTION_STRENGTH: Final = 200
_DEPTH_STRENGTH: Final = 20
_MAX_DEPTH: Final = 4
