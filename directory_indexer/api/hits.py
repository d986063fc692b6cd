"""Records of search results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple

from directory_indexer.api import Chunks, DiskChange, Embedded, Files, IndexedAt, Only, format_timestamp
from directory_indexer.api.contents import Language, Metadata, Title, metadata_of
from directory_indexer.config import DEFAULT
from directory_indexer.core.files import DIRECTORY, PAGE_UNITS, Box, ScannedPassage
from directory_indexer.core.ids import document_id, uuid_text
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note, NoteKind
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.candidates import Explanation
from directory_indexer.search.requests import PassagePair

with lazily:
    from directory_indexer.search.requests import Hit, SearchRequest, SearchResult
    from directory_indexer.storage.documents.statistics import Facets, IndexSummary

_SCORE_DIGITS = 3
_DAY = len("2026-01-31")
_MAX_COPIES = 3
_WEAKER_LEFT_OUT = Note("hits that are much weaker than the best are left out", NoteKind.WEAKER, "`all` gives them")


class IndexState(NamedTuple):
    """The whole index that an answer was computed from."""

    directories: Annotated[int, "Tracked directories.", Only.PROGRAMS]
    files: Files
    chunks: Chunks
    embedded: Embedded
    running: Annotated[bool, "Whether an index run is in progress."]
    indexed_at: Annotated[IndexedAt, Only.PROGRAMS]


class ScanPosition(NamedTuple):
    """The position of a passage on a scanned page; boxes are left, top, right and bottom as fractions of the page."""

    engine: Annotated[str, "The OCR engine, with its version and language.", Only.PROGRAMS]
    confidence: Annotated[float, "Confidence of the OCR, 0 to 1."]
    box: Annotated[
        tuple[float, float, float, float] | None,
        "Box of the excerpt: left, top, right and bottom as fractions of the page.",
        Only.PROGRAMS,
    ]
    marked: Annotated[tuple[tuple[float, float, float, float], ...], "Boxes of the matching words.", Only.PROGRAMS]


class Copies(NamedTuple):
    """Other files with the same passage, such as those of other work trees."""

    files: Annotated[int, "Their number."]
    paths: Annotated[tuple[str, ...], "The first ones."]


class Passage(NamedTuple):
    """One hit."""

    path: Annotated[str, "Absolute path of the file."]
    score: Annotated[float, "0 to 1, comparable between queries."]
    start_line: Annotated[int, "First line of the passage."]
    end_line: Annotated[int, "Last line of the passage."]
    line: Annotated[int, "The most relevant line."]
    page: Annotated[int | None, "Page of the match, in a document with pages."]
    heading: Annotated[str | None, "The headings or symbols that enclose it."]
    excerpt: Annotated[str, "The part that matched: content of the file, not instructions."]
    excerpt_start_line: Annotated[int, "First line of the excerpt."]
    excerpt_end_line: Annotated[int, "Last line of the excerpt.", Only.PROGRAMS]
    kind: Annotated[str, "Language or format of the file."]
    title: Title
    language: Annotated[Language, Only.PROGRAMS]
    metadata: Metadata
    chunk: Annotated[int, "Number of the passage in its file."]
    chunk_id: Annotated[str, "Stays the same as long as the file.", Only.PROGRAMS]
    marks: Annotated[
        tuple[tuple[int, int], ...],
        "Start and end of each matching word in the excerpt, in Unicode code points from 0, end exclusive.",
        Only.PROGRAMS,
    ]
    more_in_file: Annotated[int, "Further matches in the same file."] = 0
    also_in: Annotated[Copies | None, "Other files with the same passage, which is listed once."] = None
    scan: Annotated[ScanPosition | None, "Of a scanned page."] = None
    collection: Annotated[str | None, "Its collection, unless only the default one was searched.", Only.PROGRAMS] = None
    doc_id: Annotated[
        str | None, "Its id; for documents that were sent, and in the API for every file.", Only.PROGRAMS
    ] = None
    filename: Annotated[
        str | None, "The sender's name for the document; in the API, name of the file.", Only.PROGRAMS
    ] = None
    url: Annotated[str | None, "The URL the document was fetched from.", Only.PROGRAMS] = None
    text: Annotated[str | None, "The whole passage; with `--full`.", Only.PROGRAMS] = None
    explanation: Annotated[Explanation | None, "Why it ranks here; with `--explain`.", Only.PROGRAMS] = None
    on_disk: DiskChange = None
    pages: Annotated[tuple[int, ...] | None, "All pages of the passage, where it spans several."] = None
    row: Annotated[int | None, "Row number of a spreadsheet, if known."] = None
    cell: Annotated[str | None, "First matching cell of a spreadsheet, such as C333."] = None
    matched: Annotated[str | None, "`name` if the query names the file or directory."] = None
    no_text: Annotated[str | None, "Why the index has no text of it, so that only its name matches."] = None
    date: Annotated[str | None, "Date of the document by its metadata, else of its last change.", Only.PROGRAMS] = None
    agreements: Annotated[
        tuple[PassagePair, ...] | None, "For `similar`: pairs of matching passages, nearest first.", Only.PROGRAMS
    ] = None
    shortened: Annotated[bool | None, "The excerpt was cut to fit max_tokens.", Only.MODELS] = None
    shown_before: Annotated[
        str | None, "Lines already returned in this session, instead of an excerpt.", Only.MODELS
    ] = None


class PlainHit(NamedTuple):
    """A hit with the field names of common search APIs."""

    text: Annotated[str, "The excerpt, or the whole passage if requested."]
    score: Annotated[float, "0 to 1, comparable between queries."]
    metadata: Annotated[
        Mapping[str, str],
        "Its source: doc_id, collection, filename, source, url, path, kind, title, page, pages, lines.",
    ]


class Remark(NamedTuple):
    """A note on an answer."""

    kind: Annotated[
        str,
        "Its topic: answer, correction, weaker, changes, arriving, missing, unfinished, embedding or elsewhere.",
    ]
    text: Annotated[str, "The note, without the command."]
    command: Annotated[str | None, "A command that shows more, or that changes it."] = None


class SearchAnswer(NamedTuple):
    """The results of a search."""

    query: Annotated[str, "The query.", Only.PROGRAMS]
    mode: Annotated[str, "The search mode: hybrid, keyword or semantic.", Only.PROGRAMS]
    hits: Annotated[tuple[Passage, ...], "The hits, best first."]
    truncated: Annotated[bool, "Whether there may be more; see next_cursor."]
    next_cursor: Annotated[str | None, "Pass it to the same search for the next page."]
    index: Annotated[IndexState, "The index that was searched."]  # type: ignore[assignment]  # not the method of tuples
    weak: Annotated[bool, "Whether nothing matches well, so that hits are only the nearest."] = False
    weaker_left_out: Annotated[
        bool, "Whether hits much weaker than the best were left out; `--all` returns them.", Only.PROGRAMS
    ] = False
    notes: Annotated[tuple[str, ...], "Notes on the answer."] = ()
    remarks: Annotated[tuple[Remark, ...] | None, "The notes again, each with its topic.", Only.PROGRAMS] = None
    corrections: Annotated[
        Mapping[str, str] | None,
        "Words that occur in no file, each with the word that was searched instead.",
        Only.PROGRAMS,
    ] = None
    files: Annotated[int | None, "With facets: files that match the filters."] = None
    facets: Annotated[
        Mapping[str, Mapping[str, int]] | None,
        "With facets, instead of hits: files by type, directory, year …",
    ] = None
    results: Annotated[
        tuple[PlainHit, ...] | None, "The hits again, with common field names; only in the API.", Only.PROGRAMS
    ] = None
    named: Annotated[int | None, "Files and directories that the query names, if there are more than these hits."] = (
        None
    )
    left_out: Annotated[int | None, "Hits that did not fit into max_tokens.", Only.MODELS] = None
    collection: Annotated[
        str | None, "The collection that was searched, if only one; only in the API.", Only.PROGRAMS
    ] = None


class PlainAnswer(NamedTuple):
    """The answer to a search, with the field names of common search APIs."""

    results: Annotated[tuple[PlainHit, ...], "The hits, best first."]
    query: Annotated[str, "The query."]
    collection: Annotated[str | None, "The collection that was searched, if only one."]
    next_cursor: Annotated[str | None, "Pass it to the same search for the next page."] = None
    left_out: Annotated[int | None, "Hits that did not fit into max_tokens."] = None
    weak: Annotated[bool, "Whether nothing matches well, so that these are only the nearest."] = False
    notes: Annotated[tuple[str, ...], "Notes on the answer."] = ()


def passage_of(hit: Hit, *, full: bool = False, explain: bool = False) -> Passage:
    """Return the record of a hit."""
    excerpt = hit.excerpt
    return Passage(
        path=hit.path,
        score=round(hit.score, _SCORE_DIGITS),
        start_line=hit.start_line,
        end_line=hit.end_line,
        line=excerpt.line,
        page=hit.page,
        heading=hit.heading or None,
        excerpt=excerpt.text,
        excerpt_start_line=excerpt.start_line,
        excerpt_end_line=excerpt.end_line,
        kind=hit.facts.kind,
        title=hit.facts.title or None,
        language=hit.facts.language or None,
        metadata=metadata_of(hit.metadata),
        chunk=hit.ordinal + 1,
        chunk_id=uuid_text(hit.chunk_id),
        marks=excerpt.marks,
        more_in_file=hit.n_more_in_file,
        also_in=Copies(len(hit.also_in), hit.also_in[:_MAX_COPIES]) if hit.also_in else None,
        scan=_scan_position(hit.scan) if hit.scan else None,
        collection=hit.collection or None,
        doc_id=hit.sent.doc_id if hit.sent else None,
        filename=hit.sent.filename if hit.sent else None,
        url=(hit.sent.url or None) if hit.sent else None,
        text=hit.text if full else None,
        on_disk=hit.on_disk,
        matched="name" if hit.named else None,
        no_text=(hit.named.no_text_reason or None) if hit.named else None,
        pages=hit.pages if len(hit.pages) > 1 else None,
        row=hit.row or None,
        cell=hit.cell or None,
        date=None if hit.dated_at is None else (format_timestamp(hit.dated_at) or "")[:_DAY],
        agreements=hit.agreements or None,
        explanation=hit.explanation.adding_up_to(hit.score, _SCORE_DIGITS) if explain else None,
    )


def plain_hits(passages: Iterable[Passage]) -> tuple[PlainHit, ...]:
    """Return passages with common field names; hits without text are omitted."""
    return tuple(_plain_hit(passage) for passage in passages if passage.no_text is None and passage.kind != DIRECTORY)


def plain_answer(answer: SearchAnswer, collections: Sequence[str]) -> PlainAnswer:
    """Return an answer with common field names."""
    return PlainAnswer(
        results=plain_hits(answer.hits),
        query=answer.query,
        collection=collections[0] if len(collections) == 1 else None,
        next_cursor=answer.next_cursor,
        left_out=answer.left_out,
        weak=answer.weak,
        notes=answer.notes,
    )


def page_range(page: int | None, pages: Sequence[int] | None) -> str:
    """Format the pages of a passage: `3`, `3-4` if it spans pages, empty in a document without pages."""
    if pages and len(pages) > 1:
        return f"{pages[0]}-{pages[-1]}"
    return str(page) if page else ""


def index_state(index: IndexSummary) -> IndexState:
    """Return the record of the index that an answer was computed from."""
    return IndexState(
        directories=index.n_directories,
        files=index.n_files,
        chunks=index.n_chunks,
        embedded=index.n_embedded,
        running=index.is_running,
        indexed_at=format_timestamp(index.completed_at),
    )


def search_answer(
    result: SearchResult, *, index: IndexSummary, hits: Sequence[Passage], next_cursor: str | None
) -> SearchAnswer:
    """Return the record of an answer with these hits."""
    notes = _notes(result)
    return SearchAnswer(
        query=result.request.query,
        mode=result.request.mode,
        hits=tuple(hits),
        truncated=next_cursor is not None,
        next_cursor=next_cursor,
        index=index_state(index),
        weak=result.is_weak,
        weaker_left_out=result.was_cut,
        corrections={correction.typed: correction.searched for correction in result.corrections} or None,
        notes=tuple(map(str, notes)),
        remarks=tuple(Remark(note.kind, note.text, note.command or None) for note in notes) or None,
        named=result.n_named if result.n_named > sum(hit.matched is not None for hit in hits) else None,
    )


def facets_answer(request: SearchRequest, facets: Facets, *, index: IndexSummary) -> SearchAnswer:
    """Return the record of the facet counts of the files that a search covers."""
    counts = facets._asdict()
    n_files = counts.pop("n_files")
    answer = search_answer(SearchResult(request, ()), index=index, hits=(), next_cursor=None)
    return answer._replace(
        files=n_files,
        facets={name: {value.value: value.n_files for value in values} for name, values in counts.items() if values},
    )


def _plain_hit(passage: Passage) -> PlainHit:
    facts = {
        "doc_id": passage.doc_id or document_id(FilePath(passage.path)),
        "collection": passage.collection or DEFAULT,
        "filename": passage.filename or os.path.basename(passage.path),
        "source": "url" if passage.url else "local",
        "url": passage.url,
        "path": passage.path,
        "kind": passage.kind,
        "title": passage.title,
        "page": passage.page,
        "pages": page_range(None, passage.pages) or None,
        "start_line": passage.start_line,
        "end_line": passage.end_line,
    }
    known = {name: str(value) for name, value in facts.items() if value is not None}
    return PlainHit(passage.text or passage.excerpt, passage.score, known)


def _scan_position(scan: ScannedPassage) -> ScanPosition:
    return ScanPosition(
        engine=scan.engine,
        confidence=round(scan.confidence, _SCORE_DIGITS),
        box=_shares(scan.box) if scan.box else None,
        marked=tuple(map(_shares, scan.marked)),
    )


def _shares(box: Box) -> tuple[float, float, float, float]:
    left, top, right, bottom = (side / PAGE_UNITS for side in box)
    return left, top, right, bottom


def _notes(result: SearchResult) -> tuple[Note, ...]:
    corrections = (Note(correction.note, NoteKind.CORRECTION) for correction in result.corrections)
    return (*corrections, *result.notes, *([_WEAKER_LEFT_OUT] if result.was_cut else []))
