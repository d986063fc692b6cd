"""Document previews, and files similar to a document.

Parsing happens in worker processes; this module only selects lines and highlights of indexed texts.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from directory_indexer.docstore.store import Snapshot
from directory_indexer.extractors.recognition import expected_kind
from directory_indexer.paths import FilePath
from directory_indexer.previewing.forms import DRAWN, Form, form_of
from directory_indexer.previewing.requests import (
    ColourRequest,
    Colours,
    MarkdownRequest,
    Node,
    Rows,
    TableRequest,
    Tree,
)
from directory_indexer.relevance.excerpts import marks_in
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.searching.answers import Hit
from directory_indexer.searching.texts import FileText, read_text
from directory_indexer.server.api.arguments import PreviewCall, SimilarCall
from directory_indexer.server.api.documents import DocumentIds, indexed_path
from directory_indexer.server.api.drawn_pages import plan_of
from directory_indexer.server.api.linked_files import NOWHERE, LinkedFile, linked_files
from directory_indexer.server.api.operations import Services
from directory_indexer.server.questions import placed
from directory_indexer.wire.documents import metadata_of
from directory_indexer.wire.hits import Passage, SearchAnswer, passage_of, search_answer
from directory_indexer.wire.previews import (
    Cell,
    Colour,
    Element,
    PreviewAnswer,
    RelatedFile,
    TableRow,
)

_LINES: Final = 1_200
_LONGEST_TEXT: Final = 300_000
_MAX_MATCHING_LINES: Final = 2_000
_MOST_MEMBERS: Final = 200


class _PreviewSource(NamedTuple):
    """A document to preview."""

    path: FilePath
    text: FileText
    plan: MatchPlan
    page_starts: tuple[int, ...]
    n_masked: int


def preview(services: Services, call: PreviewCall) -> PreviewAnswer:
    """Return the lines of a document around a line, for display.

    Raises:
        NotIndexedError: there is no such file or document.
    """
    with services.collections.using(call.collection) as opened, opened.app.docstore.snapshot() as snapshot:
        path = indexed_path(services, opened, snapshot, call.doc_id)
        source = _preview_source(snapshot, path, call.query)
        related = _RelatedFiles(services.document_ids, call.collection)
        members = related.files(snapshot.files.members(path)[:_MOST_MEMBERS])
        container = snapshot.files.container_of(path)
        containers = related.files([container] if container else [])
    answer = _add_structure(services, call, _window(call.doc_id, source, call.line), source)
    return answer._replace(members=members, container=containers[0] if containers else None)


def similar(services: Services, call: SimilarCall) -> SearchAnswer:
    """Return the files with the passages that are nearest to those of a document.

    Raises:
        NotIndexedError: there is no such file or document.
    """
    with services.collections.using(call.collection) as opened:
        with opened.app.docstore.snapshot() as snapshot:
            path = indexed_path(services, opened, snapshot, call.doc_id)
        result = opened.app.similar_files.find(path, within=(), limit=call.limit)
        hits = tuple(_passage(services, call.collection, hit) for hit in placed(opened, result.hits))
        return search_answer(result, index=opened.app.status.checked(result.summary), hits=hits, next_cursor=None)


def _passage(services: Services, collection: str, hit: Hit) -> Passage:
    passage = passage_of(hit)
    if hit.sent:
        return passage
    return passage._replace(doc_id=services.document_ids.of(collection, hit.path), filename=os.path.basename(hit.path))


def _preview_source(snapshot: Snapshot, path: FilePath, query: str) -> _PreviewSource:
    text = read_text(snapshot, path, None)
    return _PreviewSource(
        path, text, plan_of(snapshot, query), snapshot.files.page_starts(path), snapshot.files.masked(path)
    )


def _window(doc_id: str, source: _PreviewSource, line: int) -> PreviewAnswer:
    """Return the lines around a line, or only the beginning of a very long one; a short document as a whole."""
    text = source.text
    starts = [0, *(at + 1 for at, sign in enumerate(text.text[:-1]) if sign == "\n")]
    first, last = _lines_around(line, len(starts), text.text, starts)
    start = starts[first - 1]
    end = min([*starts, len(text.text)][last], start + _LONGEST_TEXT)  # a line may be as long as the file
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
        is_drawn=text.facts.kind in DRAWN and not source.n_masked and not text.on_disk,
        masked=source.n_masked,
        members=(),
        container=None,
        on_disk=text.on_disk,
    )


def _lines_around(line: int, n_lines: int, text: str, starts: Sequence[int]) -> tuple[int, int]:
    if n_lines <= _LINES and len(text) <= _LONGEST_TEXT:
        return 1, n_lines
    first = last = min(max(line, 1), n_lines)
    ends = [*starts, len(text)]
    while last - first < _LINES and (first > 1 or last < n_lines):
        wider = max(first - 1, 1), min(last + 2, n_lines)  # twice as far down as up
        if ends[wider[1]] - starts[wider[0] - 1] > _LONGEST_TEXT:
            break
        first, last = wider
    return first, last


def _add_structure(
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
            with services.collections.using(call.collection) as opened:
                links = linked_files(services, opened, source.path, blocks)
            return answer._replace(elements=tuple(_element(block, source.plan, links) for block in blocks))
        case Rows(rows):
            plan = source.plan
            cells = (tuple(Cell(cell, marks_in(cell, plan)) for cell in row.cells) for row in rows)
            table_rows = (TableRow(row.line, of_row, row.heading) for row, of_row in zip(rows, cells, strict=True))
            return answer._replace(rows=tuple(table_rows))
    has_shape = answer.form not in {Form.MARKDOWN, Form.TABLE}
    return answer if has_shape else answer._replace(form=Form.LINES)


def _element(node: Node, plan: MatchPlan, links: Mapping[str, LinkedFile]) -> Element:
    marks = marks_in(node.text, plan) if node.text else ()
    children = tuple(_element(child, plan, links) for child in node.children)
    return Element(node.tag, node.text, children, node.href, *links.get(node.beside, NOWHERE), node.line, marks)


class _RelatedFiles(NamedTuple):
    """Builds the records of related files."""

    ids: DocumentIds
    collection: str

    def files(self, paths: Iterable[FilePath]) -> tuple[RelatedFile, ...]:
        return tuple(
            RelatedFile(self.ids.of(self.collection, path), os.path.basename(path), expected_kind(path))
            for path in paths
        )
