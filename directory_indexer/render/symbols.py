"""Symbols, and the places that a report is about, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from directory_indexer.lazy import lazily
from directory_indexer.render.printable import PathStyle, file_uri
from directory_indexer.render.quantities import count
from directory_indexer.render.spans import Line, Span, Style, line, plain

with lazily:
    from directory_indexer.searching.locating import Located, Spot
    from directory_indexer.searching.symbols import Caller, FoundDefinition, FoundSymbol, Use, Uses

_BYTES_PER_TOKEN: Final = 3
_SHARES: Final = (("code", 0.6), ("tests", 0.3), ("documents", 0.1))
"""How much of the room each part has at least; what one leaves the next one gets."""


def symbol_lines(found: FoundSymbol, *, paths: PathStyle, max_tokens: int = 0) -> Iterator[Line]:
    """Show what was found of a name, within so many tokens; 0 means that it may be of any length."""
    head = list(_definition_lines(found, paths))
    yield from head
    room = max_tokens * _BYTES_PER_TOKEN - _n_bytes(head) - _NOTES_BYTES if max_tokens else None
    callers = list(_caller_lines(found.callers, paths))
    shown = callers if room is None else _fitting(callers, int(room * _CALLERS_SHARE))
    yield from shown
    if len(shown) < len(callers):
        yield line(Span(f"  {count(len(callers) - len(shown), 'more caller')}", Style.NOTE))
    room = None if room is None else max(room - _n_bytes(shown), 0)
    free = 0.0
    for name, share in _SHARES:
        parts: Sequence[Uses] = getattr(found, name)
        if not parts:
            free += share
            continue
        own = None if room is None else max(int(room * (share + free)), 0)
        lines = list(_part_lines(name, parts, paths))
        shown = lines if own is None else _fitting(lines, own)
        free = 0.0 if own is None or room is None or not room else max((own - _n_bytes(shown)) / room, 0.0)
        yield from shown
        if len(shown) < len(lines):
            yield line(Span(f"  {count(len(lines) - len(shown), 'more line')}", Style.NOTE))


def located_lines(found: Located, *, paths: PathStyle) -> Iterator[Line]:
    """Show what to read for a report: a place a line, with its reason."""
    for name, spots in (("code", found.code), ("tests", found.tests), ("documents", found.documents)):
        if spots:
            n_tokens = sum(spot.n_tokens for spot in spots)
            files = count(len({spot.path for spot in spots}), "file")
            yield line(Span(f"{name}: {files}, about {n_tokens:,} tokens to read", Style.KEYWORD))
        yield from (_spot_line(spot, paths) for spot in spots)


def _spot_line(spot: Spot, paths: PathStyle) -> Line:
    symbol = spot.symbol if len(spot.symbol) <= _LONGEST_SYMBOL else f"{spot.symbol[: _LONGEST_SYMBOL - 1]}…"
    return line(
        Span(paths.shown(spot.path), Style.PATH, file_uri(spot.path)),
        Span(f":{spot.start_line}-{spot.end_line}", Style.NUMBER),
        Span(f"  {symbol}" if symbol else "", Style.NAME),
        Span(f"  ({spot.reason})", Style.NOTE),
        indent=2,
    )


def _definition_lines(found: FoundSymbol, paths: PathStyle) -> Iterator[Line]:
    if not found.definitions:
        yield line(Span(f"{found.request.qualified} is not defined in what is indexed", Style.NOTE))
    for one in found.definitions[:_MOST_DEFINITIONS]:
        yield _definition_line(one, paths)
        yield line(Span(one.signature, Style.DEFINITION), indent=4)
    if n_more := len(found.definitions[_MOST_DEFINITIONS:]):
        yield line(Span(f"  {count(n_more, 'more definition')}: name what it stands in, as in Class.name", Style.NOTE))


def _definition_line(one: FoundDefinition, paths: PathStyle) -> Line:
    at = one.definition
    return line(
        Span(f"{at.qualified}", Style.NAME),
        Span(f"  {at.kind}  ", Style.NOTE),
        Span(paths.shown(one.path), Style.PATH, file_uri(one.path)),
        Span(f":{at.start_line}-{at.end_line}", Style.NUMBER),
        indent=2,
    )


def _caller_lines(callers: Sequence[Caller], paths: PathStyle) -> Iterator[Line]:
    if callers:
        yield line(Span("callers", Style.KEYWORD))
    for one in callers:
        yield line(
            Span(one.symbol, Style.NAME),
            Span("  "),
            Span(paths.shown(one.path), Style.PATH, file_uri(one.path)),
            Span(f":{one.line}", Style.NUMBER),
            indent=2 * (one.depth + 1),
        )


def _part_lines(name: str, parts: Sequence[Uses], paths: PathStyle) -> Iterator[Line]:
    n_lines = sum(len(one.uses) for one in parts)
    n_doubtful = sum(bool(use.doubt) for one in parts for use in one.uses)
    doubtful = f", {n_doubtful} doubtful (?)" if n_doubtful else ""
    files = count(len({one.path for one in parts}), "file")
    yield line(Span(f"{name}: {count(n_lines, 'line')} in {files}{doubtful}", Style.KEYWORD))
    for path, group in groupby(parts, key=lambda one: one.path):
        yield line(Span(paths.shown(path), Style.PATH, file_uri(path)), indent=2)
        for uses in group:
            yield from (_use_line(uses.symbol, use) for use in uses.uses)


def _use_line(symbol: str, use: Use) -> Line:
    return line(
        Span(f"{symbol}: " if symbol else "", Style.NAME),
        Span(use.text),
        Span(f"  ? {use.doubt}" if use.doubt else "", Style.NOTE),
        indent=_INDENT,
        head=Span(f"{use.line:>{_INDENT - 2}}:", Style.NUMBER),
    )


def _fitting(lines: Sequence[Line], room: int) -> list[Line]:
    shown: list[Line] = []
    for one in lines:
        room -= _n_bytes([one])
        if room < 0 and shown:
            break
        shown.append(one)
    return shown


def _n_bytes(lines: Sequence[Line]) -> int:
    return len(plain(lines).encode("utf-8", "replace"))


_INDENT: Final = 8
_CALLERS_SHARE: Final = 0.4
_MOST_DEFINITIONS: Final = 20
_NOTES_BYTES: Final = 300
_LONGEST_SYMBOL: Final = 60
