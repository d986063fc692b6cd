"""Operations that search: passages, matching lines, outlines, semantic neighbours and directories.

Hits have the form of `--json`, and additionally a plain form with text, score and metadata.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from directory_indexer.api.contents import GrepAnswer, OutlineAnswer, outline_answer
from directory_indexer.api.directories import DirectoryTree, NeighbourEntry, NeighboursAnswer, directory_tree
from directory_indexer.api.hits import Passage, SearchAnswer, passage_of, plain_hits, search_answer
from directory_indexer.config import DEFAULT, doc_id_of, documents_of
from directory_indexer.core.files import SkipReason
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import lies_in
from directory_indexer.integrations.previewing.workers import RENDERED_KINDS
from directory_indexer.search.directory_usage import directory_usage
from directory_indexer.search.requests import Hit, sort_result
from directory_indexer.server.mcp.arguments import GrepCall, OutlineCall, SearchCall
from directory_indexer.server.mcp.grep_outline import grep_first_lines, grep_request, outline_of_name
from directory_indexer.server.mcp.search_answer import requested_collections, resolve_scope_refreshing
from directory_indexer.server.path_resolution import resolve_scope_directories
from directory_indexer.server.rest import Services
from directory_indexer.server.rest.arguments import DirectoriesCall, NeighboursCall
from directory_indexer.server.rest.documents import indexed_path
from directory_indexer.storage.registry.stored_documents import DocumentState
from directory_indexer.text.structure import outline_within

with lazily:
    from directory_indexer.collections import OpenCollection
    from directory_indexer.core.paths import FilePath
    from directory_indexer.search.semantic_map import Neighbour
    from directory_indexer.storage.documents.store import Snapshot

_EXCERPT_CHARS = 200
_NEARNESS_DIGITS = 4


def search(services: Services, call: SearchCall) -> SearchAnswer:
    """Find passages, or return facet counts."""
    tools = services.executor.tools
    names = requested_collections(call)
    if call.facets:
        return tools.facets(call)
    result, page = tools.find(call)
    cursor = page.position.cursor_after(result.hits, state=result.state) if result.is_truncated else None
    passages = tuple(_passage_of_hit(services, hit, call) for hit in sort_result(call.sort, result).hits)
    answer = search_answer(result, index=page.index, hits=passages, next_cursor=cursor)
    return answer._replace(
        results=plain_hits(passages) if call.results else None, collection=names[0] if len(names) == 1 else None
    )


def grep(services: Services, call: GrepCall) -> GrepAnswer:
    """Find the lines that match a pattern."""
    with services.collections.opened(call.collection) as opened:
        scope, notes = resolve_scope_refreshing(opened, call.path)
        with opened.app.visible.snapshot() as snapshot:
            return grep_first_lines(snapshot, grep_request(call, scope), tuple(map(str, notes)), limit=call.limit)


def outline(services: Services, call: OutlineCall) -> OutlineAnswer:
    """Return the outline of a file or a directory, folded to the token budget."""
    with services.collections.opened(call.collection) as opened, opened.app.visible.snapshot() as snapshot:
        return outline_answer(outline_within(outline_of_name(snapshot, call.path), max_tokens=call.max_tokens))


def neighbours(services: Services, call: NeighboursCall) -> NeighboursAnswer:
    """Return a map of the passages of other documents that are nearest to a document.

    Raises:
        NotIndexedError: there is no such document, or it has no text.
    """
    with services.collections.opened(call.collection) as opened:
        path, name = _path_and_name_of_document(services, opened, call)
        neighbourhood = opened.app.neighbourhoods.map_of(path, limit=call.limit)
        entries = tuple(_neighbour_entries(services, opened, neighbourhood.neighbours))
    return NeighboursAnswer(call.doc_id, name, path, neighbourhood.n_passages, entries, neighbourhood.topics)


def describe_directories(services: Services, call: DirectoriesCall) -> DirectoryTree:
    """Return the directory breakdown of the index.

    Raises:
        NotIndexedError: nothing is indexed at the path.
    """
    with services.collections.opened(call.collection) as opened, opened.app.visible.snapshot() as snapshot:
        own = documents_of(opened.app.loaded)
        usage = directory_usage(
            snapshot,
            _first_directory_of_scope(snapshot, call.path),
            depth=call.depth,
            max_subdirectories=call.most,
            exclude=own,
        )
    return directory_tree(usage)


def _passage_of_hit(services: Services, hit: Hit, call: SearchCall) -> Passage:
    passage = passage_of(hit, full=call.full, explain=call.explain)
    if hit.sent or not (hit.is_passage or _is_picture_without_text(hit)):
        return passage
    doc_id = services.document_ids.id_of(hit.collection or DEFAULT, hit.path)
    return passage._replace(doc_id=doc_id, filename=os.path.basename(hit.path))


def _is_picture_without_text(hit: Hit) -> bool:
    """Whether a file that was found by its name alone is a picture that can be shown."""
    reason = hit.named.no_text_reason if hit.named else ""
    return hit.facts.kind in RENDERED_KINDS and reason in {SkipReason.BINARY, SkipReason.NO_TEXT}


def _path_and_name_of_document(
    services: Services, opened: OpenCollection, call: NeighboursCall
) -> tuple[FilePath, str]:
    with opened.app.visible.snapshot() as snapshot:
        path = indexed_path(services, opened, snapshot, call.doc_id)
    stored = opened.documents.get(call.doc_id)
    return path, stored.filename if stored else os.path.basename(path)


def _neighbour_entries(
    services: Services, opened: OpenCollection, neighbours: Sequence[Neighbour]
) -> Iterator[NeighbourEntry]:
    own = documents_of(opened.app.loaded)
    ids = {path: doc_id for neighbour in neighbours if (doc_id := doc_id_of(path := neighbour.stored.path, own))}
    sent = {document.doc_id: document for document in opened.documents.get_all(list(ids.values()))} if ids else {}
    for neighbour in neighbours:
        path = neighbour.stored.path
        doc_id, name = ids.get(path), os.path.basename(path)
        if lies_in(path, own):
            document = sent.get(doc_id) if doc_id else None
            if document is None or document.state is DocumentState.DELETING:
                continue
            name = document.filename
        yield _neighbour_entry(neighbour, doc_id or services.document_ids.id_of(opened.name, path), name)


def _neighbour_entry(neighbour: Neighbour, doc_id: str, name: str) -> NeighbourEntry:
    chunk = neighbour.stored.chunk
    return NeighbourEntry(
        doc_id=doc_id,
        filename=name,
        path=neighbour.stored.path,
        directory=os.path.dirname(neighbour.stored.path),
        kind=neighbour.stored.facts.kind,
        heading=chunk.heading or None,
        line=chunk.start_line,
        page=chunk.page,
        excerpt=chunk.text[:_EXCERPT_CHARS].rstrip(),
        nearness=round(min(max(neighbour.nearness, 0.0), 1.0), _NEARNESS_DIGITS),
        x=round(neighbour.x, _NEARNESS_DIGITS),
        y=round(neighbour.y, _NEARNESS_DIGITS),
        topic=neighbour.topic,
    )


def _first_directory_of_scope(snapshot: Snapshot, path: str) -> FilePath | None:
    return next(iter(resolve_scope_directories(snapshot, path)), None)
