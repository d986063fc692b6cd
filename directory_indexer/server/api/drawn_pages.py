"""Rendering of document pages in a worker process, with the positions of the words of a query."""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import UsageError
from directory_indexer.files import SourceFile, source_file
from directory_indexer.lazy import lazily
from directory_indexer.parsing.tasks import WorkerFailure
from directory_indexer.paths import FilePath, display
from directory_indexer.previewing.requests import ScreenPage, ScreenRequest
from directory_indexer.relevance.excerpts import marks_in
from directory_indexer.relevance.informative import informative
from directory_indexer.relevance.matchplan import MatchPlan, plan_match
from directory_indexer.relevance.query import parse_query
from directory_indexer.relevance.spelling import respelled
from directory_indexer.scans import WHOLE, Recognition, Word
from directory_indexer.searching.freshness import since_indexed
from directory_indexer.server.api.arguments import PageCall
from directory_indexer.server.api.documents import indexed_path
from directory_indexer.server.api.operations import Services
from directory_indexer.wire.previews import PageAnswer

with lazily:
    from directory_indexer.team.opened import OpenCollection


def page(services: Services, call: PageCall) -> PageAnswer:
    """Render a page of a document.

    Raises:
        NotIndexedError: there is no such file or document.
        UsageError: the document has no such page, or cannot be rendered.
    """
    with services.collections.using(call.collection) as opened, opened.app.docstore.snapshot() as snapshot:
        path = indexed_path(services, opened, snapshot, call.doc_id)
        if snapshot.files.masked(path):
            raise UsageError("it holds secrets, which can only be masked in its text")
        if since_indexed(snapshot, path):
            raise UsageError(f"{display(path)} has changed since it was indexed", hint="index it again")
        plan = plan_of(snapshot, call.query)
        on_disk = _source_of(snapshot, path)
        read = _recognised_words(opened, snapshot, path, call.page)
        policy = opened.app.policies.parse._replace(count_tokens=len, descriptions=None)
    drawn = services.previews.drawing.ask(ScreenRequest(path, on_disk, call.page, policy))
    if not isinstance(drawn, ScreenPage):
        raise UsageError(drawn.message if isinstance(drawn, WorkerFailure) else "it cannot be drawn")
    return PageAnswer(
        page=call.page,
        pages=drawn.n_pages,
        width=drawn.width,
        height=drawn.height,
        media_type=drawn.media_type,
        picture=base64.b64encode(drawn.content).decode(),
        marked=tuple(_marked_boxes((*drawn.words, *read), plan)),
    )


def plan_of(snapshot: Snapshot, query: str) -> MatchPlan:
    """Return the plan for the words that a query highlights."""
    query_terms, _ = respelled(informative(parse_query(query), snapshot.words), snapshot.words)
    return plan_match(query_terms, snapshot.words)


def _source_of(snapshot: Snapshot, path: FilePath) -> SourceFile:
    try:
        return source_file(snapshot.files.container_of(path) or path)
    except OSError as error:
        raise UsageError(f"{display(path)} is gone") from error


def _recognised_words(opened: OpenCollection, snapshot: Snapshot, path: FilePath, number: int) -> tuple[Word, ...]:
    """Return the words that OCR has recognised on a page."""
    scan = snapshot.scans.of([path]).get((path, number))
    recognition = opened.app.policies.page_cache.get(scan.key) if scan else None
    return (
        tuple(word for line in recognition.lines for word in line.words) if isinstance(recognition, Recognition) else ()
    )


def _marked_boxes(words: Sequence[Word], plan: MatchPlan) -> Iterator[tuple[float, float, float, float]]:
    boxed_words = [word for word in words if word.box]
    ends, offset = [], 0
    for word in boxed_words:
        offset += len(word.text) + 1
        ends.append(offset)
    marked = {bisect_right(ends, start) for start, _ in marks_in(" ".join(word.text for word in boxed_words), plan)}
    for number in sorted(marked):
        box = boxed_words[number].box
        if box is not None:
            left, top, right, bottom = (side / WHOLE for side in box)
            yield left, top, right, bottom
