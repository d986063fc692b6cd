"""Searches in collections: each is asked for itself, and the answers are put in one order by their scores.

A score says on one scale, from 0 to 1, how well a passage answers, so hits of several collections can be compared. How
rare a word is, is counted in each collection by itself: no score of one tells anything of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from directory_indexer.config.collections import DEFAULT, doc_id_of, documents_of
from directory_indexer.docstore.summaries import IndexSummary
from directory_indexer.errors import NotIndexedError
from directory_indexer.lazy import lazily
from directory_indexer.notes import Note, prefixed
from directory_indexer.paths import lies_in
from directory_indexer.relevance.ranking import good_ones
from directory_indexer.searching.answers import Hit, SearchMode, SearchRequest, SearchResult, SentPlace
from directory_indexer.team.collections import Collections
from directory_indexer.team.opened import OpenCollection

with lazily:
    from directory_indexer.registry.stored_documents import State
    from directory_indexer.searching.file_names import arranged


def search_collections(
    collections: Collections,
    names: Sequence[str],
    request: SearchRequest,
    *,
    search: Callable[[OpenCollection, SearchRequest], SearchResult] = lambda one, request: one.app.searcher.search(
        request
    ),
) -> SearchResult:
    """Answer a request from some collections.

    Raises:
        NotIndexedError: there is no such collection, or nothing is indexed in any of them where the request looks.
        UsageError: the request cannot be meant.
    """
    results: list[SearchResult] = []
    missing: list[NotIndexedError] = []
    names = list(dict.fromkeys(names)) or [DEFAULT]
    is_named = list(names) != [DEFAULT]
    for name in names:
        with collections.using(name) as opened:
            try:
                result = search(opened, request)
            except NotIndexedError as error:
                missing.append(
                    NotIndexedError(
                        f"collection '{name}': {error.message}" if is_named else error.message, hint=error.hint
                    )
                )
                continue
            hits = with_senders(opened, result.hits)
            notes = tuple(prefixed(note, name) for note in result.notes) if len(names) > 1 else result.notes
            summary = opened.app.status.checked(result.summary) if is_named else result.summary
            results.append(
                result._replace(
                    summary=summary,
                    hits=tuple(hit._replace(collection=name) for hit in hits) if is_named else hits,
                    notes=notes,
                )
            )
    if not results:
        raise missing[0]
    return merged(request, results, notes=tuple(Note(error.message) for error in missing))


def merged(request: SearchRequest, results: Sequence[SearchResult], *, notes: tuple[Note, ...] = ()) -> SearchResult:
    """Put answers to one request together, the best hits of all of them first."""
    found = [hit for result in results for hit in result.hits]
    texts = sorted((hit for hit in found if not hit.named), key=attrgetter("score"), reverse=True)
    # What is good beside the best of its own collection may be weak beside that of another.
    leaves_out = request.only_good and not request.is_unfinished
    good = good_ones(texts, by_words_alone=request.mode is SearchMode.KEYWORD) if leaves_out else texts
    n_weaker = len(texts) - len(good)
    named = sorted((hit for hit in found if hit.named), key=lambda hit: (hit.named and hit.named.match) or 0)
    hits = arranged(named, good)
    return SearchResult(
        request=request,
        hits=hits[: request.limit],
        notes=(*(note for result in results for note in result.notes), *notes),
        is_truncated=len(hits) > request.limit or any(result.is_truncated for result in results),
        is_weak=all(result.is_weak for result in results),
        has_weaker=n_weaker > 0 or any(result.has_weaker for result in results),
        corrections=tuple(dict.fromkeys(one for result in results for one in result.corrections)),
        summary=_together([result.summary for result in results]),
        state=" ".join(result.state for result in results),
        n_named=sum(result.n_named for result in results),
    )


def with_senders(opened: OpenCollection, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Say of hits in documents that were sent which those are; leave out what is being deleted."""
    directory = documents_of(opened.app.loaded)
    # What was sent goes by its id, and may be on its way out.
    hits = [hit._replace(also_in=tuple(path for path in hit.also_in if not lies_in(path, directory))) for hit in hits]
    ids = {hit.path: doc_id for hit in hits if (doc_id := doc_id_of(hit.path, directory))}
    if not ids:
        return tuple(hits)
    documents = {one.doc_id: one for one in opened.documents.get_all(list(ids.values()))}
    shown: list[Hit] = []
    for hit in hits:
        if hit.path not in ids:
            shown.append(hit)
        elif (document := documents.get(ids[hit.path])) and document.state is not State.DELETING:
            shown.append(hit._replace(sent=SentPlace(document.doc_id, document.filename, document.url)))
    return tuple(shown)


def _together(summaries: Sequence[IndexSummary]) -> IndexSummary:
    moments = [one.completed_at for one in summaries if one.completed_at is not None]
    return IndexSummary(
        n_directories=sum(one.n_directories for one in summaries),
        n_files=sum(one.n_files for one in summaries),
        n_chunks=sum(one.n_chunks for one in summaries),
        n_embedded=sum(one.n_embedded for one in summaries),
        is_running=any(one.is_running for one in summaries),
        completed_at=min(moments, default=None),
    )
