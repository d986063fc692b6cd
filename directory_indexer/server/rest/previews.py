"""Previews of documents, with the positions of the words of a query, and files similar to a document.

Parsing and rendering happen in worker processes; this module only selects lines and highlights of indexed texts. A link
in a document is looked up among the paths of the index only: no link touches the disk, and none leads out of the
archive that contains its document.
"""

from __future__ import annotations

import base64
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import unquote

from directory_indexer.api import format_timestamp
from directory_indexer.api.contents import metadata_of
from directory_indexer.api.directories import Cell, Colour, Element, PageAnswer, PreviewAnswer, RelatedFile, TableRow
from directory_indexer.api.hits import Passage, SearchAnswer, passage_of, search_answer
from directory_indexer.chunking.chunks import HEADING_SEPARATOR
from directory_indexer.config import documents_of
from directory_indexer.core.errors import UsageError
from directory_indexer.core.files import PAGE_UNITS, Recognition, SourceFile, Word, source_file
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, containers_around, display, file_path, lies_in
from directory_indexer.formats.document import FileFacts
from directory_indexer.formats.recognition import expected_kind
from directory_indexer.integrations.previewing.requests import (
    ColourRequest,
    Colours,
    MarkdownRequest,
    Node,
    PageImage,
    PageImageRequest,
    Rows,
    TableRequest,
    Tree,
)
from directory_indexer.integrations.previewing.workers import RENDERED_KINDS, Form, form_of
from directory_indexer.parsing.tasks import WorkerFailure
from directory_indexer.ranking.excerpts import marks_in
from directory_indexer.ranking.plan import MatchPlan, plan_match, select_informative_words
from directory_indexer.ranking.query import parse_query
from directory_indexer.ranking.spelling import correct_spelling
from directory_indexer.search.file_texts import FileText, change_on_disk, read_text
from directory_indexer.search.requests import Hit
from directory_indexer.server.mcp.search_answer import add_collection_names
from directory_indexer.server.rest import Services
from directory_indexer.server.rest.arguments import PageCall, PreviewCall, SimilarCall
from directory_indexer.server.rest.documents import DocumentIds, indexed_path
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from directory_indexer.collections import OpenCollection
    from directory_indexer.embedding.likeness import are_different_words

_LINES_IN_VIEW: Final = 1_200
_MAX_TEXT_CHARS: Final = 300_000
_MAX_MATCHING_LINES: Final = 2_000
_MAX_MEMBERS: Final = 200

_MAX_LINKS: Final = 2_000


class LinkedFile(NamedTuple):
    """The target of a link."""

    doc_id: str
    heading: str


NO_LINK: Final = LinkedFile("", "")


def preview(services: Services, call: PreviewCall) -> PreviewAnswer:
    """Return the lines of a document around a line, for display.

    Raises:
        NotIndexedError: there is no such file or document.
    """
    with services.collections.opened(call.collection) as opened, opened.app.visible.snapshot() as snapshot:
        path = indexed_path(services, opened, snapshot, call.doc_id)
        source = _preview_source(snapshot, path, call.query)
        related = _RelatedFiles(services.document_ids, call.collection)
        members = related.files(snapshot.files.members(path)[:_MAX_MEMBERS])
        container = snapshot.files.container_of(path)
        containers = related.files([container] if container else [])
    answer = _add_colours_or_elements(services, call, _lines_in_view(call.doc_id, source, call.line), source)
    return answer._replace(members=members, container=containers[0] if containers else None)


def similar(services: Services, call: SimilarCall) -> SearchAnswer:
    """Return the files with the passages that are nearest to those of a document.

    Raises:
        NotIndexedError: there is no such file or document.
    """
    with services.collections.opened(call.collection) as opened:
        with opened.app.visible.snapshot() as snapshot:
            path = indexed_path(services, opened, snapshot, call.doc_id)
        result = opened.app.similar_files.find(path, within=(), limit=call.limit)
        hits = tuple(
            _passage_of_hit(services, call.collection, hit) for hit in add_collection_names(opened, result.hits)
        )
        return search_answer(
            result, index=opened.app.status.correct_running_state(result.summary), hits=hits, next_cursor=None
        )


def rendered_page(services: Services, call: PageCall) -> PageAnswer:
    """Render a page of a document.

    Raises:
        NotIndexedError: there is no such file or document.
        UsageError: the document has no such page, or cannot be rendered.
    """
    with services.collections.opened(call.collection) as opened, opened.app.visible.snapshot() as snapshot:
        path = indexed_path(services, opened, snapshot, call.doc_id)
        if snapshot.files.masked(path):
            raise UsageError("it contains secrets, which can be masked only in its text")
        if change_on_disk(snapshot, path):
            raise UsageError(f"{display(path)} has changed since it was indexed", hint="index it again")
        plan = plan_highlighting(snapshot, call.query)
        on_disk = _source_file_of(snapshot, path)
        read = _recognised_words(opened, snapshot, path, call.page)
        policy = opened.app.policies.parse._replace(count_tokens=len, descriptions=None)
    drawn = services.previews.drawing.ask(PageImageRequest(path, on_disk, call.page, policy))
    if not isinstance(drawn, PageImage):
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


def plan_highlighting(snapshot: Snapshot, query: str) -> MatchPlan:
    """Return the plan for the words that a query highlights."""
    query_terms = select_informative_words(parse_query(query), snapshot.words)
    corrected, _ = correct_spelling(query_terms, snapshot.words, are_different=are_different_words)
    return plan_match(corrected, snapshot.words)


def resolve_links(
    services: Services, opened: OpenCollection, path: FilePath, blocks: Iterable[Node]
) -> Mapping[str, LinkedFile]:
    """Return the indexed files that the links of a document lead to, by their addresses as written."""
    addresses = dict.fromkeys(islice(_link_addresses(blocks), _MAX_LINKS))
    targets = {address: target for address in addresses if (target := _resolve_link(path, address))}
    with opened.app.visible.snapshot() as snapshot:
        indexed = snapshot.files.with_text(targets.values())
    own = documents_of(opened.app.loaded)
    return {
        address: LinkedFile(services.document_ids.id_of(opened.name, target), unquote(address.partition("#")[2]))
        for address, target in targets.items()
        if target in indexed and not lies_in(target, own)
    }


class _PreviewSource(NamedTuple):
    """A document to preview."""

    path: FilePath
    text: FileText
    plan: MatchPlan
    page_starts: tuple[int, ...]
    n_masked: int
    modified_at: float | None
    """Seconds since the epoch."""


def _passage_of_hit(services: Services, collection: str, hit: Hit) -> Passage:
    passage = passage_of(hit)
    if hit.sent:
        return passage
    return passage._replace(
        doc_id=services.document_ids.id_of(collection, hit.path), filename=os.path.basename(hit.path)
    )


def _preview_source(snapshot: Snapshot, path: FilePath, query: str) -> _PreviewSource:
    known = snapshot.files.get_all((path,)).get(path)
    return _PreviewSource(
        path,
        _text_of(snapshot, path),
        plan_highlighting(snapshot, query),
        snapshot.files.page_starts(path),
        snapshot.files.masked(path),
        known.source.mtime_ns / 1e9 if known else None,
    )


def _text_of(snapshot: Snapshot, path: FilePath) -> FileText:
    """Return the text of a document; none of a picture without text, which can be drawn all the same."""
    kind = expected_kind(path)
    if kind not in RENDERED_KINDS or snapshot.files.with_text([path]):
        return read_text(snapshot, path, None)
    return FileText(path, FileFacts(kind), "", 1, 1, 1, 0, (), change_on_disk(snapshot, path))


def _lines_in_view(doc_id: str, source: _PreviewSource, line: int) -> PreviewAnswer:
    """Return the lines around a line, or only the beginning of a very long one; a short document as a whole."""
    text = source.text
    starts = [0, *(at + 1 for at, sign in enumerate(text.text[:-1]) if sign == "\n")]
    first, last = _lines_around(line, len(starts), text.text, starts)
    start = starts[first - 1]
    end = min([*starts, len(text.text)][last], start + _MAX_TEXT_CHARS)  # a line may be as long as the file
    marks = marks_in(text.text, source.plan)
    inside = tuple(
        (first - start, following - start) for first, following in marks if start <= first and following <= end
    )
    matching = dict.fromkeys(bisect_right(starts, first) for first, _ in marks)
    return PreviewAnswer(
        doc_id=doc_id,
        path=source.path,
        filename=os.path.basename(source.path),
        kind=text.facts.kind,
        title=text.facts.title or None,
        metadata=metadata_of(text.metadata),
        form=form_of(text.facts.kind),
        text=text.text[start:end],
        start_line=first,
        end_line=last,
        total_lines=len(starts),
        marks=inside,
        colours=(),
        elements=(),
        rows=(),
        matching_lines=tuple(matching)[:_MAX_MATCHING_LINES],
        page_lines=tuple(bisect_right(starts, at) for at in source.page_starts),
        heading_lines=tuple(dict.fromkeys(_heading_lines(text, first, last))),
        is_drawn=text.facts.kind in RENDERED_KINDS and not source.n_masked and not text.on_disk,
        masked=source.n_masked,
        members=(),
        container=None,
        on_disk=text.on_disk,
        modified_at=format_timestamp(source.modified_at),
    )


def _heading_lines(text: FileText, first: int, last: int) -> Iterator[int]:
    """Yield the lines in view that are headings of prose: a chunk knows those above and in it, but not where."""
    if form_of(text.facts.kind) not in {Form.PROSE, Form.PAGES}:
        return
    lines = text.text.split("\n")
    for chunk in text.chunks:
        numbers = range(max(chunk.start_line, first), min(chunk.end_line, last) + 1)
        names = chunk.heading.split(HEADING_SEPARATOR) if numbers else ()
        headings = {name for heading in names for name in (heading, *heading.split(", ")) if name}
        yield from (number for number in numbers if lines[number - 1].strip() in headings)


def _lines_around(line: int, n_lines: int, text: str, starts: Sequence[int]) -> tuple[int, int]:
    if n_lines <= _LINES_IN_VIEW and len(text) <= _MAX_TEXT_CHARS:
        return 1, n_lines
    first = last = min(max(line, 1), n_lines)
    ends = [*starts, len(text)]
    while last - first < _LINES_IN_VIEW and (first > 1 or last < n_lines):
        wider = max(first - 1, 1), min(last + 2, n_lines)  # twice as far down as up
        if ends[wider[1]] - starts[wider[0] - 1] > _MAX_TEXT_CHARS:
            break
        first, last = wider
    return first, last


def _add_colours_or_elements(
    services: Services, call: PreviewCall, answer: PreviewAnswer, source: _PreviewSource
) -> PreviewAnswer:
    """Add colours, elements or rows from a worker process; a document that it cannot parse is shown as lines."""
    request: object = None
    match answer.form:
        case Form.LINES:
            request = ColourRequest(answer.text, answer.kind)
        case Form.MARKDOWN:
            request = MarkdownRequest(answer.text, answer.start_line)
        case Form.TABLE:
            request = TableRequest(answer.text, answer.kind, answer.start_line)
    match services.previews.taking_apart.ask(request) if request else None:
        case Colours(stretches):
            return answer._replace(colours=tuple(Colour(*stretch) for stretch in stretches))
        case Tree(blocks):
            with services.collections.opened(call.collection) as opened:
                links = resolve_links(services, opened, source.path, blocks)
            return answer._replace(elements=tuple(_page_element(block, source.plan, links) for block in blocks))
        case Rows(rows):
            plan = source.plan
            cells = (tuple(Cell(cell, marks_in(cell, plan)) for cell in row.cells) for row in rows)
            table_rows = (TableRow(row.line, of_row, row.heading) for row, of_row in zip(rows, cells, strict=True))
            return answer._replace(rows=tuple(table_rows))
    has_shape = answer.form not in {Form.MARKDOWN, Form.TABLE}
    return answer if has_shape else answer._replace(form=Form.LINES)


def _page_element(node: Node, plan: MatchPlan, links: Mapping[str, LinkedFile]) -> Element:
    marks = marks_in(node.text, plan) if node.text else ()
    children = tuple(_page_element(child, plan, links) for child in node.children)
    return Element(node.tag, node.text, children, node.href, *links.get(node.beside, NO_LINK), node.line, marks)


class _RelatedFiles(NamedTuple):
    """Builds the records of related files."""

    ids: DocumentIds
    collection: str

    def files(self, paths: Iterable[FilePath]) -> tuple[RelatedFile, ...]:
        return tuple(
            RelatedFile(self.ids.id_of(self.collection, path), os.path.basename(path), expected_kind(path))
            for path in paths
        )


def _source_file_of(snapshot: Snapshot, path: FilePath) -> SourceFile:
    try:
        return source_file(snapshot.files.container_of(path) or path)
    except OSError as error:
        raise UsageError(f"{display(path)} is gone") from error


def _recognised_words(opened: OpenCollection, snapshot: Snapshot, path: FilePath, number: int) -> tuple[Word, ...]:
    """Return the words that OCR has recognised on a page."""
    scan = snapshot.scans.scans_of([path]).get((path, number))
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
            left, top, right, bottom = (side / PAGE_UNITS for side in box)
            yield left, top, right, bottom


def _link_addresses(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        if node.beside:
            yield node.beside
        yield from _link_addresses(node.children)


def _resolve_link(path: FilePath, address: str) -> FilePath | None:
    """Return the path of an address relative to a document; None if the two are not in the same archive."""
    name = unquote(address.partition("#")[0].partition("?")[0], errors="surrogateescape")
    if not name:
        return path
    if name.startswith(("/", "\\")) or os.path.isabs(name):
        return None
    target = FilePath(os.path.normpath(os.path.join(os.path.dirname(path), file_path(name))))
    return target if containers_around(target)[-1:] == containers_around(path)[-1:] else None
