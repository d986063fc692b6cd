"""Searches of assistants: the requests of calls, and answers within a token budget, with a cursor for the rest.

Ten hits are worth more than whole excerpts of half as many: each excerpt gets room by its rank, as nDCG weights ranks.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeAlias

from directory_indexer.api import Position, parse_cursor
from directory_indexer.api.hits import Passage, SearchAnswer, facets_answer, passage_of, plain_answer, search_answer
from directory_indexer.collections.search import add_ids_and_drop_deleted
from directory_indexer.config import DEFAULT
from directory_indexer.core.files import DIRECTORY
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.candidates import Excerpt
from directory_indexer.ranking.excerpts import narrow_excerpt
from directory_indexer.ranking.filter_fields import ARGUMENT_FIELDS
from directory_indexer.search.requests import SearchRequest, SearchResult, metadata_conditions, parse_since, parse_until
from directory_indexer.server.mcp import (
    count_json_bytes,
    count_json_tokens,
    largest_number_that_fits,
    max_bytes_of_tokens,
    record_to_object,
)
from directory_indexer.server.mcp.answer import Answer, resource_links
from directory_indexer.server.mcp.answer_text import format_search_answer
from directory_indexer.server.mcp.arguments import ArgumentError, SearchCall, SimilarArguments
from directory_indexer.server.mcp.clients import describe_client_roots, indexed_client_roots, omit_returned_excerpt
from directory_indexer.server.path_resolution import resolve_scope_directories
from directory_indexer.storage.documents.statistics import IndexSummary

with lazily:
    from directory_indexer.collections import OpenCollection
    from directory_indexer.search.requests import Hit
    from directory_indexer.storage.documents.statistics import Facets

EXCERPT_CHARS = 800
"""Longer than for people: an assistant then requests the surrounding text less often."""


def requested_collections(call: Any) -> tuple[str, ...]:
    """Return the collections of a call, whether its arguments allow one or several."""
    return getattr(call, "collections", ()) or (getattr(call, "collection", DEFAULT),)


def parse_search_call(call: SearchCall, *, embedding_ms: int) -> tuple[SearchRequest, Position]:
    """Return the search request of a call without its scope, and the position of its cursor.

    Raises:
        UsageError: the call is invalid.
    """
    position = parse_cursor(call.cursor, question=call._replace(**_DEFAULT_PRESENTATION))
    request = SearchRequest(
        query=call.query,
        queries=call.queries,
        mode=call.mode,
        limit=position.limit(call.limit),
        kinds=call.types,
        globs=call.globs,
        since=parse_since(call.since, name="since"),
        until=parse_until(call.until, name="until"),
        metadata=_metadata_conditions(call),
        only_good=not call.all,
        excerpt_chars=EXCERPT_CHARS,
        embedding_seconds=embedding_ms / 1000,
    )
    return request, position


_DEFAULT_PRESENTATION: Final[Mapping[str, Any]] = {
    name: SearchCall._field_defaults[name]
    for name in ("cursor", "limit", "max_tokens", "all", "full", "explain", "sort", "prefix", "refresh")
}
"""Arguments that may differ from page to page of an answer."""


def requested_path(call: Any) -> str:
    """Return the path to which a call restricts the search; for `similar_files` that is `within`."""
    return str(call.within if isinstance(call, SimilarArguments) else call.path)


class ResolvedScope(NamedTuple):
    """The resolved scope of a call in a collection, with notes about it and about changes there."""

    scope: tuple[FilePath, ...]
    notes: tuple[Note, ...]


def resolve_scope_refreshing(opened: OpenCollection, path: str) -> ResolvedScope:
    """Resolve the scope of a call with this path, if any, and refresh the index there.

    Raises:
        NotIndexedError: nothing is indexed there.
    """
    resolved = resolve_scope(opened, path)
    return resolved._replace(notes=(*opened.app.refresh(resolved.scope), *resolved.notes))


def resolve_scope(opened: OpenCollection, path: str) -> ResolvedScope:
    """Resolve the scope of a call with this path, if any, without refreshing the index.

    Raises:
        NotIndexedError: nothing is indexed there.
    """
    scope = resolve_path_or_roots(opened, path)
    return ResolvedScope(
        scope, tuple(map(Note, describe_client_roots(scope))) if _uses_client_roots(opened, path) else ()
    )


ScopeResolver: TypeAlias = "Callable[[OpenCollection, str], ResolvedScope]"


def resolve_path_or_roots(opened: OpenCollection, path: str) -> tuple[FilePath, ...]:
    """Resolve a path in a collection; without one, the scope is the roots of the client.

    Raises:
        NotIndexedError: nothing is indexed there.
    """
    with opened.app.visible.snapshot() as snapshot:
        return (
            indexed_client_roots(snapshot)
            if _uses_client_roots(opened, path)
            else resolve_scope_directories(snapshot, path)
        )


def search_in(
    opened: OpenCollection, request: SearchRequest, path: str, *, resolve: ScopeResolver = resolve_scope_refreshing
) -> SearchResult:
    """Search a collection at a path, after the scope is resolved by `resolve`."""
    scope, notes = resolve(opened, path)
    result = opened.app.searcher.search(request._replace(scope=scope))
    return result._replace(
        summary=opened.app.status.correct_running_state(result.summary), notes=(*notes, *result.notes)
    )


def _uses_client_roots(opened: OpenCollection, path: str) -> bool:
    """Whether a call is restricted to the roots of the client: only in the default collection, and without a path."""
    return not path and opened.name == DEFAULT


def add_collection_names(opened: OpenCollection, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return hits with their collection, unless it is the default one, and with their sent documents."""
    name = "" if opened.name == DEFAULT else opened.name
    return tuple(hit._replace(collection=name) for hit in add_ids_and_drop_deleted(opened, hits))


def _metadata_conditions(call: SearchCall) -> tuple[tuple[str, str], ...]:
    values = {field.word: [value] for field in ARGUMENT_FIELDS if (value := getattr(call, field.argument))}
    return metadata_conditions(values, names={field.word: field.argument for field in ARGUMENT_FIELDS})


_N_HITS_BEFORE_SHORTENING = 10
"""This many hits are returned with shortened excerpts rather than dropped; the cursor leads to the others."""

_MIN_BYTES = 120
"""The smallest room of an excerpt: a line, or forty Chinese characters."""

_STEP_FACTOR = 1.2
_N_STEPS = 20
"""The first excerpt has room for at most `_LEAST_BYTES * _STEP ** _N_STEPS`, 4,600 bytes."""

_MIN_EXCERPT_CHARS = 40


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """A page of a result: its position, its token budget, and the state of the index."""

    position: Position
    max_tokens: int
    index: IndexSummary
    plain_collections: tuple[str, ...] = ()
    """The collections that were searched, if the answer uses the field names of the plain contract."""


def search_answer_within_budget(result: SearchResult, page: AnswerPage) -> SearchAnswer:
    """Return as many hits as fit; of the first ten, excerpts are shortened before hits are dropped.

    Raises:
        ArgumentError: not even the path of the first hit fits into `max_tokens`.
    """
    brief = _omit_redundant if page.plain_collections else _omit_unmatched_text
    hits = _describe_files_once([omit_returned_excerpt(brief(passage_of(hit))) for hit in result.hits])

    def size(passages: Sequence[Passage]) -> int:
        answer = _search_answer_of_page(result, page, passages)
        if page.plain_collections:
            return count_json_tokens(record_to_object(plain_answer(answer, page.plain_collections)))
        linked = count_json_tokens([dataclasses.astuple(link) for link in resource_links(answer, result)])
        return _size(answer, linked=linked)

    def fits(passages: Sequence[Passage]) -> bool:
        return size(passages) <= page.max_tokens

    first, others = hits[:_N_HITS_BEFORE_SHORTENING], hits[_N_HITS_BEFORE_SHORTENING:]
    excerpt_bytes = [count_json_bytes(hit.excerpt) for hit in first]
    if sum(excerpt_bytes) <= max_bytes_of_tokens(page.max_tokens) and fits(first):
        n_others = largest_number_that_fits(len(others), lambda n: fits(hits[: len(first) + n]))
        return _search_answer_of_page(result, page, hits[: len(first) + n_others])
    estimate = None
    least = size(_shorten_excerpts_by_rank(first, 0))
    if least <= page.max_tokens:
        estimate = _estimate_step(excerpt_bytes, max_bytes_of_tokens(page.max_tokens - least))
    else:  # this is rare, and each trial costs a millisecond
        first = first[
            : largest_number_that_fits(len(first) - 1, lambda n: fits(_shorten_excerpts_by_rank(first[:n], 0)))
        ]
    if not first:
        return _search_answer_of_page(
            result, page, [_shorten_to_fit(hits[0], fits, lambda hit: _search_answer_of_page(result, page, [hit]))]
        )
    shortened = cache(partial(_shorten_excerpts_by_rank, first))
    step = largest_number_that_fits(_N_STEPS, lambda step: fits(shortened(step)), estimate=estimate)
    return _search_answer_of_page(result, page, shortened(step))


def plain_search_answer(answer: SearchAnswer, page: AnswerPage) -> Answer:
    """Return an answer with the field names of the plain contract, and its JSON as text."""
    plain = plain_answer(answer, page.plain_collections)
    return Answer(json.dumps(record_to_object(plain), ensure_ascii=False, separators=(",", ":")), plain)


def facet_answer(request: SearchRequest, facets: Facets, page: AnswerPage) -> SearchAnswer:
    """Return the facet counts, with as many values of each facet as fit."""

    def counts(most: int) -> SearchAnswer:
        n_files, *values = facets
        return facets_answer(request, Facets(n_files, *(facet[:most] for facet in values)), index=page.index)

    return counts(largest_number_that_fits(max(map(len, facets[1:])), lambda n: _size(counts(n)) <= page.max_tokens))


def _shorten_excerpts_by_rank(hits: Sequence[Passage], step: int) -> list[Passage]:
    """Shorten the first excerpt to the room of this step, and each further one in proportion to its nDCG discount."""
    rooms = _rooms_by_rank(len(hits), step)
    return [_shorten_excerpt_to_bytes(hit, room) for hit, room in zip(hits, rooms, strict=True)]


def _rooms_by_rank(n_hits: int, step: int) -> list[int]:
    n_bytes = _MIN_BYTES * _STEP_FACTOR**step
    return [max(_MIN_BYTES, int(n_bytes / math.log2(rank + 2))) for rank in range(n_hits)]


def _estimate_step(excerpt_bytes: Sequence[int], n_bytes: int) -> int:
    """Return the largest step at which excerpts of these sizes take up at most `n_bytes` more than at the first one."""

    def total(step: int) -> int:
        return sum(map(min, excerpt_bytes, _rooms_by_rank(len(excerpt_bytes), step)))

    return largest_number_that_fits(_N_STEPS, lambda step: total(step) - total(0) <= n_bytes)


def _shorten_excerpt_to_bytes(hit: Passage, n_bytes: int) -> Passage:
    size = count_json_bytes(hit.excerpt)
    if size <= n_bytes:
        return hit
    whole = Excerpt(hit.excerpt, hit.excerpt_start_line, hit.excerpt_end_line, hit.marks, hit.line)
    text, start_line, end_line, marks, _ = narrow_excerpt(whole, max(1, len(hit.excerpt) * n_bytes // size))
    return hit._replace(
        excerpt=text, excerpt_start_line=start_line, excerpt_end_line=end_line, marks=marks, shortened=True
    )


def _shorten_to_fit(
    hit: Passage, fits: Callable[[Sequence[Passage]], bool], answer: Callable[[Passage], SearchAnswer]
) -> Passage:
    """Shorten a hit that does not fit even with the shortest usual excerpt."""
    hit = hit._replace(metadata=None)
    if not fits([_shorten_excerpt(hit, _MIN_EXCERPT_CHARS)]):
        hit = hit._replace(heading=None, title=None, language=None, scan=None)
    if not fits([_shorten_excerpt(hit, 0)]):
        needed = count_json_tokens(record_to_object(answer(_shorten_excerpt(hit, _MIN_EXCERPT_CHARS))))
        raise ArgumentError(f"max_tokens is too small for the path of a hit; repeat the call with max_tokens={needed}")
    return _shorten_excerpt(hit, largest_number_that_fits(len(hit.excerpt), lambda n: fits([_shorten_excerpt(hit, n)])))


def _search_answer_of_page(result: SearchResult, page: AnswerPage, passages: Sequence[Passage]) -> SearchAnswer:
    left_out = len(result.hits) - len(passages)
    cursor = None
    if left_out or result.is_truncated:
        cursor = page.position.cursor_after(result.hits[: len(passages)], state=result.state)
    answer = search_answer(result, index=page.index, hits=passages, next_cursor=cursor)
    return answer._replace(left_out=left_out or None)


def _size(answer: SearchAnswer, *, linked: int = 0) -> int:
    """Return the token count of its structured content, or of its text with its links if that is larger."""
    return max(count_json_tokens(record_to_object(answer)), count_json_tokens(format_search_answer(answer)) + linked)


def _omit_redundant(hit: Passage) -> Passage:
    """Omit a title that the heading repeats, and metadata that does not help to judge a passage."""
    if hit.title and f"{hit.heading} > ".startswith(f"{hit.title} > "):
        hit = hit._replace(title=None)
    if hit.metadata is None:
        return hit
    is_by_sender = hit.metadata.get("author") == hit.metadata.get("from")
    unneeded = {"message_id", "thread", "pages", *(("author",) if is_by_sender else ())}
    return hit._replace(metadata={k: v for k, v in hit.metadata.items() if k not in unneeded} or None)


def _omit_unmatched_text(hit: Passage) -> Passage:
    """Omit the text, too, of a file that was found by its name alone."""
    is_name_alone = hit.matched and not hit.marks and hit.kind != DIRECTORY
    return _omit_redundant(hit._replace(excerpt="", heading=None, metadata=None) if is_name_alone else hit)


def _describe_files_once(hits: Sequence[Passage]) -> list[Passage]:
    """Omit the title and metadata of further passages of a file."""
    paths: set[str] = set()
    passages: list[Passage] = []
    for hit in hits:
        passages.append(hit._replace(title=None, metadata=None) if hit.path in paths else hit)
        paths.add(hit.path)
    return passages


def _shorten_excerpt(hit: Passage, n_characters: int) -> Passage:
    return hit._replace(excerpt=hit.excerpt[:n_characters], shortened=True)
