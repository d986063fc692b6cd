"""How much of what was found an answer shows within its budget, best first, and a cursor for the rest.

Ten hits are worth more than whole excerpts of half as many: each has room by its place, as nDCG weighs places.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from directory_indexer.docstore.summaries import IndexSummary
from directory_indexer.files import DIRECTORY
from directory_indexer.lazy import lazily
from directory_indexer.relevance.evidence import Excerpt
from directory_indexer.relevance.excerpts import narrowed
from directory_indexer.server.answer import Answer
from directory_indexer.server.arguments import ArgumentError
from directory_indexer.server.budget import cost, most_that_fit, n_bytes_of
from directory_indexer.server.links import links
from directory_indexer.server.passages import search_text
from directory_indexer.server.schemas import object_for_models
from directory_indexer.server.shown import without_excerpt
from directory_indexer.wire.cursors import Position
from directory_indexer.wire.hits import Passage, SearchAnswer, facets_answer, passage_of, plain_answer, search_answer

with lazily:
    from directory_indexer.docstore.facets import Facets
    from directory_indexer.searching.answers import SearchRequest, SearchResult


_WANTED = 10
"""So many hits have shorter excerpts rather than none; whoever asks for more has the others by the cursor."""

_LEAST_BYTES = 120
"""What an excerpt keeps at least: a line, or forty letters of Chinese."""

_STEP = 1.2
_N_STEPS = 20
"""The first excerpt has room for the least bytes times so many of these steps: 4,600 bytes at most."""

_SHORTEST_EXCERPT = 40


@dataclass(frozen=True, slots=True)
class Page:
    """How much is shown of a result, and what answers are drawn from."""

    position: Position
    max_tokens: int
    index: IndexSummary
    plain_collections: tuple[str, ...] = ()
    """The collections that were searched, where the answer has the names of the plain contract."""


def fitting_answer(result: SearchResult, page: Page) -> SearchAnswer:
    """Show as many hits as fit; of the first ten, excerpts are shortened rather than hits left out.

    Raises:
        ArgumentError: not even the path of the first one fits into `max_tokens`.
    """
    brief = _brief if page.plain_collections else _brief_by_name
    hits = _with_files_described_once([without_excerpt(brief(passage_of(hit))) for hit in result.hits])

    def fits(shown: Sequence[Passage]) -> bool:
        answer = _answer(result, page, shown)
        if page.plain_collections:
            return cost(object_for_models(plain_answer(answer, page.plain_collections))) <= page.max_tokens
        linked = cost([dataclasses.astuple(link) for link in links(answer, result)])
        return _fits(answer, page.max_tokens, linked=linked)

    first, others = hits[:_WANTED], hits[_WANTED:]
    if fits(first):
        n_others = most_that_fit(len(others), lambda n: fits(hits[: len(first) + n]))
        return _answer(result, page, hits[: len(first) + n_others])
    if not fits(_sharing_room(first, 0)):  # which is rare, and each trial costs a millisecond
        first = first[: most_that_fit(len(first) - 1, lambda n: fits(_sharing_room(first[:n], 0)))]
    if not first:
        return _answer(result, page, [_fitting_hit(hits[0], fits, lambda hit: _answer(result, page, [hit]))])
    step = most_that_fit(_N_STEPS, lambda step: fits(_sharing_room(first, step)))
    return _answer(result, page, _sharing_room(first, step))


def plain_search_answer(answer: SearchAnswer, page: Page) -> Answer:
    """Return an answer by the names of the plain contract, with its JSON as text."""
    plain = plain_answer(answer, page.plain_collections)
    return Answer(json.dumps(object_for_models(plain), ensure_ascii=False, separators=(",", ":")), plain)


def counting_answer(request: SearchRequest, facets: Facets, page: Page) -> SearchAnswer:
    """Show how files spread; as many values of each facet as fit."""

    def counts(most: int) -> SearchAnswer:
        n_files, *values = facets
        return facets_answer(request, Facets(n_files, *(one[:most] for one in values)), index=page.index)

    return counts(most_that_fit(max(map(len, facets[1:])), lambda n: _fits(counts(n), page.max_tokens)))


def _sharing_room(hits: Sequence[Passage], step: int) -> list[Passage]:
    """Give the first excerpt the room of this step, and each further one the share that its place is worth in nDCG."""
    n_bytes = _LEAST_BYTES * _STEP**step
    rooms = (max(_LEAST_BYTES, int(n_bytes / math.log2(place + 2))) for place in range(len(hits)))
    return [_narrowed(hit, room) for hit, room in zip(hits, rooms, strict=True)]


def _narrowed(hit: Passage, n_bytes: int) -> Passage:
    size = n_bytes_of(hit.excerpt)
    if size <= n_bytes:
        return hit
    whole = Excerpt(hit.excerpt, hit.excerpt_start_line, hit.excerpt_end_line, hit.marks, hit.line)
    text, start_line, end_line, marks, _ = narrowed(whole, max(1, len(hit.excerpt) * n_bytes // size))
    return hit._replace(
        excerpt=text, excerpt_start_line=start_line, excerpt_end_line=end_line, marks=marks, shortened=True
    )


def _fitting_hit(
    hit: Passage, fits: Callable[[Sequence[Passage]], bool], answer: Callable[[Passage], SearchAnswer]
) -> Passage:
    """Shorten a hit that does not fit even with the shortest of the usual excerpts."""
    hit = hit._replace(metadata=None)
    if not fits([_shortened(hit, _SHORTEST_EXCERPT)]):
        hit = hit._replace(heading=None, title=None, language=None, scan=None)
    if not fits([_shortened(hit, 0)]):
        needed = cost(object_for_models(answer(_shortened(hit, _SHORTEST_EXCERPT))))
        raise ArgumentError(f"max_tokens is too small for the path of a hit; repeat the call with max_tokens={needed}")
    return _shortened(hit, most_that_fit(len(hit.excerpt), lambda n: fits([_shortened(hit, n)])))


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
    """Leave out a title that the heading begins with, and of the metadata what a reader of passages has no use for."""
    if hit.title and f"{hit.heading} > ".startswith(f"{hit.title} > "):
        hit = hit._replace(title=None)
    if hit.metadata is None:
        return hit
    is_by_sender = hit.metadata.get("author") == hit.metadata.get("from")
    unneeded = {"message_id", "thread", "pages", *(("author",) if is_by_sender else ())}
    return hit._replace(metadata={k: v for k, v in hit.metadata.items() if k not in unneeded} or None)


def _brief_by_name(hit: Passage) -> Passage:
    """Leave out the text of a file that was found by its name alone, too."""
    is_name_alone = hit.matched and not hit.marks and hit.kind != DIRECTORY
    return _brief(hit._replace(excerpt="", heading=None, metadata=None) if is_name_alone else hit)


def _with_files_described_once(hits: Sequence[Passage]) -> list[Passage]:
    """Leave out of a further passage of a file what its first one has said."""
    seen: set[str] = set()
    described: list[Passage] = []
    for hit in hits:
        described.append(hit._replace(title=None, metadata=None) if hit.path in seen else hit)
        seen.add(hit.path)
    return described


def _shortened(hit: Passage, n_characters: int) -> Passage:
    return hit._replace(excerpt=hit.excerpt[:n_characters], shortened=True)
