"""How much of what was found an answer shows within its budget: whole hits, best first, and a cursor for the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from directory_indexer.docstore.summaries import IndexSummary
from directory_indexer.lazy import lazily
from directory_indexer.server.arguments import ArgumentError
from directory_indexer.server.budget import cost, most_that_fit
from directory_indexer.server.links import links
from directory_indexer.server.passages import search_text
from directory_indexer.server.schemas import object_for_models
from directory_indexer.wire.cursors import Position
from directory_indexer.wire.hits import Passage, SearchAnswer, facets_answer, passage_of, search_answer

with lazily:
    from directory_indexer.docstore.facets import Facets
    from directory_indexer.searching.answers import SearchRequest, SearchResult


_SHORTEST_EXCERPT = 40


@dataclass(frozen=True, slots=True)
class Page:
    """How much is shown of a result, and what answers are drawn from."""

    position: Position
    max_tokens: int
    index: IndexSummary


def fitting_answer(result: SearchResult, page: Page) -> SearchAnswer:
    """Show as many hits as fit; the first one is shortened rather than left out.

    Raises:
        ArgumentError: not even its path fits into `max_tokens`.
    """
    hits = [_brief(passage_of(hit)) for hit in result.hits]

    def fits(shown: Sequence[Passage]) -> bool:
        answer = _answer(result, page, shown)
        linked = cost([dataclasses.astuple(link) for link in links(answer, result)])
        return _fits(answer, page.max_tokens, linked=linked)

    n_shown = most_that_fit(len(hits), lambda n: fits(hits[:n]))
    if n_shown or not hits:
        return _answer(result, page, hits[:n_shown])
    first = hits[0]._replace(metadata=None)
    if not fits([_shortened(first, _SHORTEST_EXCERPT)]):
        first = first._replace(heading=None, title=None, language=None, scan=None)
    if not fits([_shortened(first, 0)]):
        needed = cost(object_for_models(_answer(result, page, [_shortened(first, _SHORTEST_EXCERPT)])))
        raise ArgumentError(f"max_tokens is too small for the path of a hit; repeat the call with max_tokens={needed}")
    n_characters = most_that_fit(len(first.excerpt), lambda n: fits([_shortened(first, n)]))
    return _answer(result, page, [_shortened(first, n_characters)])


def counting_answer(request: SearchRequest, facets: Facets, page: Page) -> SearchAnswer:
    """Show how files spread; as many values of each facet as fit."""

    def counts(most: int) -> SearchAnswer:
        n_files, *values = facets
        return facets_answer(request, Facets(n_files, *(one[:most] for one in values)), index=page.index)

    return counts(most_that_fit(max(map(len, facets[1:])), lambda n: _fits(counts(n), page.max_tokens)))


def _answer(result: SearchResult, page: Page, shown: Sequence[Passage]) -> SearchAnswer:
    left_out = len(result.hits) - len(shown)
    cursor = None
    if left_out or result.is_truncated:
        cursor = page.position.cursor_after(result.hits[: len(shown)], state=result.state)
    answer = search_answer(result, index=page.index, hits=shown, next_cursor=cursor)
    return answer._replace(left_out=left_out or None)


def _fits(answer: SearchAnswer, max_tokens: int, *, linked: int = 0) -> bool:
    return cost(object_for_models(answer)) <= max_tokens and cost(search_text(answer)) + linked <= max_tokens


def _brief(hit: Passage) -> Passage:
    """Leave out of the metadata what a reader of passages has no use for."""
    if hit.metadata is None:
        return hit
    is_by_sender = hit.metadata.get("author") == hit.metadata.get("from")
    unneeded = {"message_id", "thread", "pages", *(("author",) if is_by_sender else ())}
    return hit._replace(metadata={k: v for k, v in hit.metadata.items() if k not in unneeded} or None)


def _shortened(hit: Passage, n_characters: int) -> Passage:
    return hit._replace(excerpt=hit.excerpt[:n_characters], shortened=True)
