"""Outlines, symbols with their uses, places to read for an issue report, and lines that match a pattern, as lines.

An outline has a headline, columns of entries indented by depth, and the command that shows folded parts. Matching lines
are formatted as by ripgrep: below their file on a terminal, each with its file in a pipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.text.excerpts import page_noun
from directory_indexer.text.formatting import Line, PathStyle, Span, Style, count, file_uri, line, plain, single_line

with lazily:
    import shlex

    from directory_indexer.search.grep import FileMatches, GrepLine
    from directory_indexer.search.issue_localisation import LocateResult, Spot
    from directory_indexer.search.outlines import Outline, OutlineItem, fold_outline
    from directory_indexer.search.symbols import Caller, DefinitionLocation, SymbolResult, Use, Uses

_BYTES_PER_TOKEN: Final = 3
"""As the MCP server estimates tokens."""

_FOLD_MARK_BYTES = 5
_NOTES_BYTES = 260
_MAX_KINDS = 3
_SIZES: Final = "tokens"
_MAX_NAME_CHARS = 100
_THOUSAND = 1000


def outline_within(outline: Outline, *, max_tokens: int) -> Outline:
    """Fold an outline until its lines fit into `max_tokens`; 0 means no limit."""
    if not max_tokens:
        return outline
    columns = _column_widths(outline)

    def cost(entry: OutlineItem) -> int:
        return len(plain([_entry_line(entry, columns)]).encode("utf-8", "replace")) + _FOLD_MARK_BYTES

    heads = [_headline(outline, PathStyle()), _heading(columns)]
    head = len(plain(heads).encode("utf-8", "replace"))
    return fold_outline(outline, max_cost=max_tokens * _BYTES_PER_TOKEN - head - _NOTES_BYTES, cost=cost)


def outline_lines(outline: Outline, *, paths: PathStyle) -> Iterator[Line]:
    """Yield the lines of an outline."""
    yield _headline(outline, paths)
    columns = _column_widths(outline)
    if outline.entries:
        yield _heading(columns)
    for entry in outline.entries:
        yield _entry_line(entry, columns)


def folded_note(outline: Outline, *, max_tokens: int) -> str:
    """Return a note on what is folded or left out; "" if nothing is."""
    n_folded = sum(entry.n_folded for entry in outline.entries)
    n_left = outline.n_left_out
    parts = [f"{count(n_folded, 'part')} folded, marked +N"] if n_folded else []
    parts += [f"{count(n_left, 'smaller part')} left out"] if n_left else []
    return f"{' and '.join(parts)} to keep to {max_tokens:,} tokens" if parts else ""


def unfolding_command(outline: Outline, *, paths: PathStyle, max_tokens: int) -> str:
    """Return the command that shows the folded parts."""
    path = single_line(paths.format(outline.path))
    largest = max(outline.entries, key=lambda entry: (entry.n_folded > 0, entry.n_tokens), default=None)
    if largest is None or not largest.n_folded:
        return f"dirindex outline {shlex.quote(path)} --max-tokens {max_tokens * 4} shows more"
    inner = f"{path}/{largest.name}" if outline.is_directory else f"{path}#{largest.name}"
    return f"dirindex outline {shlex.quote(single_line(inner))} shows one of them, --max-tokens {max_tokens * 4} more"


def _headline(outline: Outline, paths: PathStyle) -> Line:
    facts = [outline.facts.kind or "text"]
    facts += [count(outline.n_pages, page_noun(outline.facts.kind))] if outline.n_pages else []
    facts += [count(outline.n_lines, "line")] if outline.n_lines else []
    facts += [count(outline.n_files, "file")] if outline.is_directory else []
    facts += [count(outline.n_chunks, "passage"), f"about {outline.n_tokens:,} tokens"]
    part = f"#{outline.part}" if outline.part else ""
    changed = f"  ({outline.on_disk} since it was indexed)" if outline.on_disk else ""
    title = f"  {outline.facts.title}" if outline.facts.title and not outline.part else ""
    return line(
        "",
        Span(paths.format(outline.path) + part, Style.SHORTENED_PATH, file_uri(outline.path)),
        Span(f"  {', '.join(facts)}"),
        Span(title, Style.PLACE),
        Span(changed, Style.NOTE),
    )


class _Columns(NamedTuple):
    """The name and the width of the column of places; the width of that of sizes."""

    places: str
    place_width: int
    size_width: int


def _column_widths(outline: Outline) -> _Columns:
    place_width = max((len(_format_place(entry)) for entry in outline.entries), default=0)
    places = ("files" if outline.is_directory else "lines") if place_width else ""
    size_width = max((len(_format_size(entry)) for entry in outline.entries), default=0)
    return _Columns(places, max(len(places), place_width), max(len(_SIZES), size_width))


def _heading(columns: _Columns) -> Line:
    return line(Span(f"{columns.places:>{columns.place_width}}  {_SIZES:>{columns.size_width}}", Style.NOTE))


def _entry_line(entry: OutlineItem, columns: _Columns) -> Line:
    name = entry.name if len(entry.name) <= _MAX_NAME_CHARS else f"{entry.name[: _MAX_NAME_CHARS - 1]}…"
    return line(
        Span(f"{_format_place(entry):>{columns.place_width}}  ", Style.PLACE),
        Span(f"{_format_size(entry):>{columns.size_width}}  ", Style.NUMBER),
        Span("  " * entry.depth + name, Style.NAME),
        Span(f"  +{entry.n_folded}" if entry.n_folded else "", Style.NOTE),
        Span(f"  {_format_kinds(entry.kinds)}" if entry.n_files else "", Style.NOTE),
    )


def _format_place(entry: OutlineItem) -> str:
    if not entry.start_line:
        return f"{entry.n_files:,}" if entry.n_files else ""
    page = f"p{entry.page} " if entry.page else ""
    return f"{page}{entry.start_line}-{entry.end_line}"


def _format_size(entry: OutlineItem) -> str:
    """Format a number of tokens: 340, 1.2k, 58k."""
    n_tokens = entry.n_tokens
    if n_tokens < _THOUSAND:
        return str(n_tokens)
    thousands = n_tokens / _THOUSAND
    return f"{thousands:.1f}k" if thousands < 9.95 else f"{thousands:,.0f}k"  # noqa: PLR2004 - two digits


def _format_kinds(kinds: Iterable[tuple[str, int]]) -> str:
    counts = list(kinds)
    n_more = len(counts) - _MAX_KINDS
    more = [f"{n_more} more {'kind' if n_more == 1 else 'kinds'}"] if n_more > 0 else []
    return ", ".join([*(f"{kind or 'text'} {n:,}" for kind, n in counts[:_MAX_KINDS]), *more])


_MAX_TOKENS: Final = 10**9
_SHARES: Final = (("code", 0.6), ("tests", 0.3), ("documents", 0.1))
"""The least share of the room for each part; what a part leaves goes to the next."""


def symbol_lines(symbol: SymbolResult, *, paths: PathStyle, max_tokens: int = 0) -> Iterator[Line]:
    """Yield the lines on a name, of at most `max_tokens` tokens; 0 means no limit."""
    budget = min(max_tokens, _MAX_TOKENS) * _BYTES_PER_TOKEN - _SYMBOL_NOTES_BYTES if max_tokens else None
    definitions = _definition_lines(symbol, paths)
    head = _fitting(definitions, None if budget is None else int(budget * _DEFINITIONS_SHARE))
    yield from head
    n_fitting = min(len(symbol.definitions), len(head) // 2)
    if n_more := len(symbol.definitions) - n_fitting:
        yield line(Span(f"  {count(n_more, 'more definition')}: name what it stands in, as in Class.name", Style.NOTE))
    budget = None if budget is None else budget - _n_bytes(head)
    callers = _fitting(_caller_lines(symbol.callers, paths), None if budget is None else int(budget * _CALLERS_SHARE))
    yield from callers
    if symbol.callers and (n_more := len(symbol.callers) + 1 - len(callers)):
        yield line(Span(f"  {count(n_more, 'more caller')}", Style.NOTE))
    yield from _uses_lines(symbol, paths, None if budget is None else max(budget - _n_bytes(callers), 0))


def _uses_lines(symbol: SymbolResult, paths: PathStyle, budget: int | None) -> Iterator[Line]:
    free = 0.0
    for name, share in _SHARES:
        parts: Sequence[Uses] = getattr(symbol, name)
        if not parts:
            free += share
            continue
        own = None if budget is None else max(int(budget * (share + free)), 0)
        lines = _fitting(_part_lines(name, parts, paths), own)
        free = 0.0 if own is None or not budget else max((own - _n_bytes(lines)) / budget, 0.0)
        yield from lines
        n_files = sum(1 for _ in groupby(parts, key=lambda part: part.path))
        if n_more := 1 + n_files + sum(len(part.uses) for part in parts) - len(lines):
            yield line(Span(f"  {count(n_more, 'more line')}", Style.NOTE))


def located_lines(located: LocateResult, *, paths: PathStyle) -> Iterator[Line]:
    """Yield the places to read for a report, one a line, each with its reason."""
    for name, spots in (("code", located.code), ("tests", located.tests), ("documents", located.documents)):
        if spots:
            n_tokens = sum(spot.tokens for spot in spots)
            files = count(len({spot.path for spot in spots}), "file")
            yield line(Span(f"{name}: {files}, about {n_tokens:,} tokens to read", Style.KEYWORD))
        yield from (_spot_line(spot, paths) for spot in spots)


def _spot_line(spot: Spot, paths: PathStyle) -> Line:
    symbol = spot.symbol if len(spot.symbol) <= _MAX_SYMBOL_CHARS else f"{spot.symbol[: _MAX_SYMBOL_CHARS - 1]}…"
    return line(
        Span(paths.format(spot.path), Style.PATH, file_uri(spot.path)),
        Span(f":{spot.start_line}-{spot.end_line}", Style.NUMBER),
        Span(f"  {symbol}" if symbol else "", Style.NAME),
        Span(f"  ({spot.reason})", Style.NOTE),
        indent=2,
    )


def _definition_lines(symbol: SymbolResult, paths: PathStyle) -> Iterator[Line]:
    if not symbol.definitions:
        yield line(Span(f"{symbol.request.qualified} is not defined in what is indexed", Style.NOTE))
    for definition in symbol.definitions[:_MAX_DEFINITIONS]:
        yield _definition_line(definition, paths)
        yield line(Span(definition.signature, Style.DEFINITION), indent=4)


def _definition_line(found_definition: DefinitionLocation, paths: PathStyle) -> Line:
    definition = found_definition.definition
    return line(
        Span(f"{definition.qualified}", Style.NAME),
        Span(f"  {definition.kind}  ", Style.NOTE),
        Span(paths.format(found_definition.path), Style.PATH, file_uri(found_definition.path)),
        Span(f":{definition.start_line}-{definition.end_line}", Style.NUMBER),
        indent=2,
    )


def _caller_lines(callers: Sequence[Caller], paths: PathStyle) -> Iterator[Line]:
    if callers:
        yield line(Span("callers", Style.KEYWORD))
    for caller in callers:
        yield line(
            Span(caller.symbol, Style.NAME),
            Span("  "),
            Span(paths.format(caller.path), Style.PATH, file_uri(caller.path)),
            Span(f":{caller.line}", Style.NUMBER),
            indent=2 * (caller.depth + 1),
        )


def _part_lines(name: str, parts: Sequence[Uses], paths: PathStyle) -> Iterator[Line]:
    n_lines = sum(len(part.uses) for part in parts)
    n_doubtful = sum(bool(use.doubt) for part in parts for use in part.uses)
    doubtful = f", {n_doubtful} doubtful (?)" if n_doubtful else ""
    files = count(len({part.path for part in parts}), "file")
    yield line(Span(f"{name}: {count(n_lines, 'line')} in {files}{doubtful}", Style.KEYWORD))
    for path, group in groupby(parts, key=lambda part: part.path):
        yield line(Span(paths.format(path), Style.PATH, file_uri(path)), indent=2)
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


def _fitting(lines: Iterable[Line], budget: int | None) -> list[Line]:
    """Return the first lines that fit, and at least one."""
    if budget is None:
        return list(lines)
    fitting_lines: list[Line] = []
    for next_line in lines:
        budget -= _n_bytes([next_line])
        if budget < 0 and fitting_lines:
            break
        fitting_lines.append(next_line)
    return fitting_lines


def _n_bytes(lines: Sequence[Line]) -> int:
    return len(plain(lines).encode("utf-8", "replace"))


_INDENT: Final = 8
_CALLERS_SHARE: Final = 0.4
_DEFINITIONS_SHARE: Final = 0.4
_MAX_DEFINITIONS: Final = 20
_SYMBOL_NOTES_BYTES: Final = 300
_MAX_SYMBOL_CHARS: Final = 60


PathWriter: TypeAlias = Callable[[FilePath], str]


class MatchView(StrEnum):
    """The part of matching lines that is printed."""

    LINES = "lines"
    MATCHES_ALONE = "matches alone"
    COUNTS = "counts"
    PATHS = "paths"
    NULL_PATHS = "paths ended by NUL"


def match_rows(matches: FileMatches, *, view: MatchView, path: PathWriter, is_first: bool = True) -> Iterator[str]:
    """Yield the lines of one file for a pipe; `--` separates lines that are not adjacent."""
    name = single_line(path(matches.path))
    if view is MatchView.PATHS:
        yield name
    elif view is MatchView.COUNTS:
        yield f"{name}:{matches.n_matches}"
    else:
        has_context = _has_context(matches)
        before: GrepLine | None = None
        for row in matches.lines:
            if has_context and (before is None or row.number > before.number + 1) and not (is_first and before is None):
                yield _SEPARATOR
            sign = _line_sign(row)
            place = f"{name}{sign}{_path_and_number(row, sign)}{sign}"
            yield from (f"{place}{text}" for text in _row_texts(row, view))
            before = row


def match_lines(matches: FileMatches, *, view: MatchView, paths: PathStyle) -> Iterator[Line]:
    """Yield the lines of one file for a terminal."""
    name = Span(paths.format(matches.path), Style.PATH, file_uri(matches.path))
    if view is MatchView.PATHS:
        yield line(name)
        return
    if view is MatchView.COUNTS:
        yield line(name, Span(":"), Span(str(matches.n_matches), Style.NUMBER))
        return
    yield line(name)
    number = matches.lines[0].number
    for row in matches.lines:
        if row.number > number + 1 and _has_context(matches):
            yield line(Span(_SEPARATOR, Style.NOTE))
        number = row.number
        sign = _line_sign(row)
        place = Span(_path_and_number(row, sign), Style.NUMBER)
        if view is MatchView.MATCHES_ALONE:
            yield from (line(place, Span(sign), Span(text, Style.MATCH)) for text in _row_texts(row, view))
        else:
            yield line(place, Span(sign), *_spans_with_marks(row))
    yield line()


def _row_texts(row: GrepLine, view: MatchView) -> list[str]:
    if view is not MatchView.MATCHES_ALONE:
        return [row.text]
    return [row.text[start:end] for start, end in row.spans]


def _spans_with_marks(row: GrepLine) -> Iterator[Span]:
    at = 0
    for start, end in row.spans:
        yield Span(row.text[at:start])
        yield Span(row.text[start:end], Style.MATCH)
        at = end
    yield Span(row.text[at:])


def _path_and_number(row: GrepLine, sign: str) -> str:
    return f"{row.page}{sign}{row.number}" if row.page else str(row.number)


def _line_sign(row: GrepLine) -> str:
    return ":" if row.is_match else "-"


def _has_context(matches: FileMatches) -> bool:
    return len(matches.lines) > matches.n_matches or any(not row.is_match for row in matches.lines)


_SEPARATOR = "--"
