"""Show hits to a person, a pipe or a program."""

from __future__ import annotations

from collections.abc import Callable

from directory_indexer.cli.output import Output
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.docstore.summaries import IndexSummary
    from directory_indexer.render import answers, json_pages
    from directory_indexer.render.answers import View
    from directory_indexer.searching.answers import SearchResult
    from directory_indexer.wire.cursors import Position


def show_result(
    result: SearchResult,
    output: Output,
    *,
    index: Callable[[], IndexSummary],
    view: View,
    explain: bool,
    position: Position,
) -> None:
    """Show what a search found, after the notes that say how far to trust it."""
    if output.as_json:
        is_full = view is View.FULL
        output.data(json_pages.search_json(result, index=index(), position=position, full=is_full, explain=explain))
        return
    # First of all how far to trust what follows.
    output.notes(answers.search_notes(result))
    if output.is_terminal:
        output.lines(answers.search_lines(result, paths=output.paths, view=view, explain=explain))
    else:
        output.data(answers.search_rows(result, view=view, explain=explain))
    output.notes(answers.closing_notes(result))
