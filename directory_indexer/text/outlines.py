"""Outlines as lines: a headline, columns of entries indented by depth, and the command that shows folded parts."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from directory_indexer.core.lazy import lazily
from directory_indexer.text.formatting import Line, PathStyle, Span, Style, count, file_uri, line, plain, single_line

with lazily:
    from directory_indexer.search.outlines import Entry, Outline, fold_outline


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

    def cost(entry: Entry) -> int:
        return len(plain([_entry_line(entry, columns)]).encode("utf-8", "replace")) + _FOLD_MARK_BYTES

    heads = [_headline(outline, PathStyle()), _heading(columns)]
    head = len(plain(heads).encode("utf-8", "replace"))
    return fold_outline(outline, room=max_tokens * _BYTES_PER_TOKEN - head - _NOTES_BYTES, cost=cost)


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
    facts += [count(outline.n_pages, "page")] if outline.n_pages else []
    facts += [count(outline.n_lines, "line")] if outline.n_lines else []
    facts += [count(outline.n_files, "file")] if outline.is_directory else []
    facts += [count(outline.n_chunks, "passage"), f"about {outline.n_tokens:,} tokens"]
    part = f"#{outline.part}" if outline.part else ""
    changed = f"  ({outline.on_disk} since it was indexed)" if outline.on_disk else ""
    title = f"  {outline.facts.title}" if outline.facts.title and not outline.part else ""
    return line(
        "",
        Span(paths.format(outline.path) + part, Style.HIT, file_uri(outline.path)),
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


def _entry_line(entry: Entry, columns: _Columns) -> Line:
    name = entry.name if len(entry.name) <= _MAX_NAME_CHARS else f"{entry.name[: _MAX_NAME_CHARS - 1]}…"
    return line(
        Span(f"{_format_place(entry):>{columns.place_width}}  ", Style.PLACE),
        Span(f"{_format_size(entry):>{columns.size_width}}  ", Style.NUMBER),
        Span("  " * entry.depth + name, Style.NAME),
        Span(f"  +{entry.n_folded}" if entry.n_folded else "", Style.NOTE),
        Span(f"  {_format_kinds(entry.kinds)}" if entry.n_files else "", Style.NOTE),
    )


def _format_place(entry: Entry) -> str:
    if not entry.start_line:
        return f"{entry.n_files:,}" if entry.n_files else ""
    page = f"p{entry.page} " if entry.page else ""
    return f"{page}{entry.start_line}-{entry.end_line}"


def _format_size(entry: Entry) -> str:
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
