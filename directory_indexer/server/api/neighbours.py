"""Semantic neighbours of a document."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from directory_indexer.config.collections import doc_id_of, documents_of
from directory_indexer.lazy import lazily
from directory_indexer.paths import lies_in
from directory_indexer.registry.stored_documents import State
from directory_indexer.server.api.directory_arguments import NeighboursCall
from directory_indexer.server.api.documents import indexed_path
from directory_indexer.server.api.operations import Services
from directory_indexer.wire.neighbours import NeighbourEntry, NeighboursAnswer

with lazily:
    from directory_indexer.paths import FilePath
    from directory_indexer.searching.neighbourhood import Neighbour
    from directory_indexer.team.opened import OpenCollection

_EXCERPT_CHARS = 200
_DIGITS = 4


def neighbours(services: Services, call: NeighboursCall) -> NeighboursAnswer:
    """Return a map of the passages of other documents that are nearest to a document.

    Raises:
        NotIndexedError: there is no such document, or it has no text.
    """
    with services.collections.using(call.collection) as opened:
        path, name = _document(services, opened, call)
        neighbourhood = opened.app.neighbourhoods.around(path, limit=call.limit)
        entries = tuple(_entries(services, opened, neighbourhood.neighbours))
    return NeighboursAnswer(call.doc_id, name, path, neighbourhood.n_passages, entries, neighbourhood.topics)


def _document(services: Services, opened: OpenCollection, call: NeighboursCall) -> tuple[FilePath, str]:
    with opened.app.docstore.snapshot() as snapshot:
        path = indexed_path(services, opened, snapshot, call.doc_id)
    stored = opened.documents.get(call.doc_id)
    return path, stored.filename if stored else os.path.basename(path)


def _entries(services: Services, opened: OpenCollection, neighbours: Sequence[Neighbour]) -> Iterator[NeighbourEntry]:
    own = documents_of(opened.app.loaded)
    ids = {path: doc_id for neighbour in neighbours if (doc_id := doc_id_of(path := neighbour.stored.path, own))}
    sent = {document.doc_id: document for document in opened.documents.get_all(list(ids.values()))} if ids else {}
    for neighbour in neighbours:
        path = neighbour.stored.path
        doc_id, name = ids.get(path), os.path.basename(path)
        if lies_in(path, own):
            document = sent.get(doc_id) if doc_id else None
            if document is None or document.state is State.DELETING:
                continue
            name = document.filename
        yield _entry(neighbour, doc_id or services.document_ids.of(opened.name, path), name)


def _entry(neighbour: Neighbour, doc_id: str, name: str) -> NeighbourEntry:
    chunk = neighbour.stored.chunk
    return NeighbourEntry(
        doc_id=doc_id,
        filename=name,
        path=neighbour.stored.path,
        directory=os.path.dirname(neighbour.stored.path),
        heading=chunk.heading or None,
        line=chunk.start_line,
        page=chunk.page,
        excerpt=chunk.text[:_EXCERPT_CHARS].rstrip(),
        nearness=round(min(max(neighbour.nearness, 0.0), 1.0), _DIGITS),
        x=round(neighbour.x, _DIGITS),
        y=round(neighbour.y, _DIGITS),
        topic=neighbour.topic,
    )
