"""Search in several collections, each of which is searched separately, and the directories of their named scopes.

Hits are merged by score: scores are absolute, from 0 to 1. Word frequencies are counted in each collection, so no score
reveals anything about another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from directory_indexer.collections import Collections, OpenCollection
from directory_indexer.config import DEFAULT, doc_id_of, documents_of
from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note, prefix_note
from directory_indexer.core.paths import FilePath, lies_in
from directory_indexer.ranking.ordering import cut_below_threshold
from directory_indexer.search.requests import Hit, SearchMode, SearchRequest, SearchResult, SentDocumentRef
from directory_indexer.storage.documents.statistics import IndexSummary

with lazily:
    from directory_indexer.search.file_names import merge_named_hits
    from directory_indexer.storage.registry import Scopes
    from directory_indexer.storage.registry.stored_documents import DocumentState


def search_collections(
    collections: Collections,
    names: Sequence[str],
    request: SearchRequest,
    *,
    search: Callable[[OpenCollection, SearchRequest], SearchResult] = lambda opened, request: (
        opened.app.searcher.search(request)
    ),
) -> SearchResult:
    """Return the results of a request in some collections.

    Raises:
        NotIndexedError: there is no such collection, or nothing is indexed in the scope of the request.
        UsageError: the request is invalid.
    """
    results: list[SearchResult] = []
    missing: list[NotIndexedError] = []
    names = list(dict.fromkeys(names)) or [DEFAULT]
    is_named = list(names) != [DEFAULT]
    for name in names:
        with collections.opened(name) as opened:
            try:
                result = search(opened, request)
            except NotIndexedError as error:
                missing.append(
                    NotIndexedError(
                        f"collection '{name}': {error.message}" if is_named else error.message, hint=error.hint
                    )
                )
                continue
            hits = add_ids_and_drop_deleted(opened, result.hits)
            notes = tuple(prefix_note(note, name) for note in result.notes) if len(names) > 1 else result.notes
            summary = opened.app.status.correct_running_state(result.summary) if is_named else result.summary
            results.append(
                result._replace(
                    summary=summary,
                    hits=tuple(hit._replace(collection=name) for hit in hits) if is_named else hits,
                    notes=notes,
                )
            )
    if not results:
        raise missing[0]
    return merge_results(request, results, notes=tuple(Note(error.message) for error in missing))


def merge_results(
    request: SearchRequest, results: Sequence[SearchResult], *, notes: tuple[Note, ...] = ()
) -> SearchResult:
    """Return the merged results of one request, best hits first."""
    all_hits = [hit for result in results for hit in result.hits]
    texts = sorted((hit for hit in all_hits if not hit.named), key=attrgetter("score"), reverse=True)
    # A good hit of one collection may be weak compared with those of another.
    leaves_out = request.only_good and not request.is_prefix
    good = cut_below_threshold(texts, by_words_alone=request.mode is SearchMode.KEYWORD) if leaves_out else texts
    n_weaker = len(texts) - len(good)
    named = sorted((hit for hit in all_hits if hit.named), key=lambda hit: (hit.named and hit.named.match) or 0)
    hits = merge_named_hits(named, good)
    return SearchResult(
        request=request,
        hits=hits[: request.limit],
        notes=(*(note for result in results for note in result.notes), *notes),
        is_truncated=len(hits) > request.limit or any(result.is_truncated for result in results),
        is_weak=all(result.is_weak for result in results),
        was_cut=n_weaker > 0 or any(result.was_cut for result in results),
        corrections=tuple(dict.fromkeys(correction for result in results for correction in result.corrections)),
        summary=_merge_summaries([result.summary for result in results]),
        state=" ".join(result.state for result in results),
        n_named=sum(result.n_named for result in results),
    )


def add_ids_and_drop_deleted(opened: OpenCollection, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits with the ids of sent documents, without hits in documents that are being deleted."""
    directory = documents_of(opened.app.loaded)
    ids = {hit.path: doc_id for hit in hits if (doc_id := doc_id_of(hit.path, directory))}
    sent = {
        document.doc_id: SentDocumentRef(document.doc_id, document.filename, document.url)
        for document in (opened.documents.get_all(list(ids.values())) if ids else ())
        if document.state is not DocumentState.DELETING
    }
    return tuple(
        hit._replace(
            sent=sent[ids[hit.path]] if hit.path in ids else None,
            # Sent documents are identified by their ids, and may be being deleted.
            also_in=tuple(path for path in hit.also_in if not lies_in(path, directory)),
        )
        for hit in hits
        if hit.path not in ids or ids[hit.path] in sent
    )


def _merge_summaries(summaries: Sequence[IndexSummary]) -> IndexSummary:
    moments = [summary.completed_at for summary in summaries if summary.completed_at is not None]
    return IndexSummary(
        n_directories=sum(summary.n_directories for summary in summaries),
        n_files=sum(summary.n_files for summary in summaries),
        n_chunks=sum(summary.n_chunks for summary in summaries),
        n_embedded=sum(summary.n_embedded for summary in summaries),
        is_running=any(summary.is_running for summary in summaries),
        completed_at=min(moments, default=None),
    )


def scopes_of_collection(collections: Collections, collection: str) -> Scopes:
    """Return the named scopes of a collection.

    Raises:
        NotIndexedError: there is no such collection.
    """
    name, _ = collections.key(collection)
    return Scopes(collections.app.registry, name)


def directories_of_named_scope(collections: Collections, collection: str, scope: str) -> tuple[FilePath, ...]:
    """Return the directories of a scope of a collection.

    Raises:
        NotIndexedError: there is no such collection, or no such scope in it.
    """
    directories = scopes_of_collection(collections, collection).all().get(scope)
    if directories is None:
        raise NotIndexedError(f"there is no scope '{scope}'", hint="dirindex scope shows them")
    return directories
