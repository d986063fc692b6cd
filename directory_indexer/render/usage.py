"""Usage of search tools by assistants, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from directory_indexer.lazy import lazily
from directory_indexer.paths import file_path
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.quantities import count
from directory_indexer.render.spans import Line, Span, Style, line

with lazily:
    from directory_indexer.wire.usage import UsageAnswer

_HEAD = f"{'tools':8}{'calls':>9}{'dirindex':>10}{'tokens':>14}{'a call':>10}{'at most':>10}"


def usage_lines(usage: UsageAnswer) -> Iterator[Line]:
    """Yield the counts, one line per kind of tool."""
    sessions = ", ".join(f"{n:,} {name}" for name, n in sorted(usage.sessions.items()))
    yield line(f"{count(sum(usage.sessions.values()), 'session')}{f': {sessions}' if sessions else ''}")
    if usage.tools:
        yield line()
        yield line(Span(_HEAD, Style.NOTE))
    for use in usage.tools:
        figures = f"{use.tokens:14,}{use.tokens_per_call:10,}{use.most_tokens:10,}"
        yield line(f"{use.kind:8}{use.calls:9,}{use.dirindex:10,}{figures}")


def unreadable_lines(usage: UsageAnswer, *, paths: PathStyle) -> Iterator[Line]:
    """Yield the files that could not be counted."""
    for file in usage.unreadable:
        yield line(Span(paths.format(file_path(file.path)), Style.PATH), f": {file.reason}")
