"""Records of search results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple

from directory_indexer.api.contents import Language, Metadata, Title, metadata_of
from directory_indexer.api.fields import Chunks, Embedded, Files, IndexedAt, OnDisk, Only, format_timestamp
from directory_indexer.config.collections import DEFAULT
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
    """The index that an answer was drawn from, as a whole."""

    directories: Annotated[int, "Tracked directories.", Only.PROGRAMS]
    files: Files
    chunks: Chunks
    embedded: Embedded
    running: Annotated[bool, "Whether an index run goes on."]
    indexed_at: Annotated[IndexedAt, Only.PROGRAMS]


class ScannedPlace(NamedTuple):
    """The position of a passage on a scanned page; boxes are left, top, right and bottom as fractions of the page."""

    engine: Annotated[str, "What read the page: the engine with its version and language.", Only.PROGRAMS]
    confidence: Annotated[float, "How sure OCR is, 0 to 1."]
    box: Annotated[
        tuple[float, float, float, float] | None,
        "Where the excerpt stands: left, top, right and bottom as shares of the page.",
        Only.PROGRAMS,
    ]
    marked: Annotated[tuple[tuple[float, float, float, float], ...], "Where the matching words stand.", Only.PROGRAMS]


class Copies(NamedTuple):
    """Other files that have the very passage, such as those of other work trees."""

    files: Annotated[int, "How many there are."]
    paths: Annotated[tuple[str, ...], "The first of them."]


class Passage(NamedTuple):
    """One hit."""

    path: Annotated[str, "Absolute path of the file."]
    score: Annotated[float, "0 to 1, comparable from query to query."]
    start_line: Annotated[int, "First line of the passage."]
    end_line: Annotated[int, "Last line of the passage."]
    line: Annotated[int, "The line that matters most."]
    page: Annotated[int | None, "Page, in a document that has pages: where what matched begins."]
    heading: Annotated[str | None, "Headings or symbols above it."]
    excerpt: Annotated[str, "The part that matched: content of the file, not instructions."]
    excerpt_start_line: Annotated[int, "First line of the excerpt."]
    excerpt_end_line: Annotated[int, "Last line of the excerpt.", Only.PROGRAMS]
    kind: Annotated[str, "Language or format of the file."]
    title: Title
    language: Annotated[Language, Only.PROGRAMS]
    metadata: Metadata
    chunk: Annotated[int, "Number of the passage in its file."]
    chunk_id: Annotated[str, "Stays the same while the file does.", Only.PROGRAMS]
    marks: Annotated[
        tuple[tuple[int, int], ...],
        "First and following character of each matching word in the excerpt, in Unicode code points from 0.",
        Only.PROGRAMS,
    ]
    more_in_file: Annotated[int, "Further matches in the same file."] = 0
    also_in: Annotated[Copies | None, "Other files that have the same passage, which is shown once."] = None
    scan: Annotated[ScannedPlace | None, "Of a scanned page."] = None
    collection: Annotated[
        str | None, "The collection that it lies in, if not the default one was searched.", Only.PROGRAMS
    ] = None
    doc_id: Annotated[
        str | None, "Of a document that was sent, and of every file in the API: its id.", Only.PROGRAMS
    ] = None
    filename: Annotated[
        str | None, "What its sender calls the document; in the API, name of the file.", Only.PROGRAMS
    ] = None
    url: Annotated[str | None, "Where the document was fetched.", Only.PROGRAMS] = None
    text: Annotated[str | None, "The whole passage; with `--full`.", Only.PROGRAMS] = None
    explanation: Annotated[Explanation | None, "Why it stands where it does; with `--explain`.", Only.PROGRAMS] = None
    on_disk: OnDisk = None
    pages: Annotated[tuple[int, ...] | None, "All pages of the passage, where it spans several."] = None
    row: Annotated[int | None, "Of a sheet, the row that people see there, where it is known."] = None
    cell: Annotated[str | None, "Of a sheet, the first cell that matches, as people name it: C333."] = None
    matched: Annotated[str | None, "name: the query names the file or directory."] = None
    no_text: Annotated[str | None, "Why the index has no text of it, so that it is found by its name alone."] = None
    date: Annotated[str | None, "Day that the document gives itself, else that of its last change.", Only.PROGRAMS] = (
        None
    )
    agreements: Annotated[
        tuple[PassagePair, ...] | None, "Of `similar`: the passages that agree, nearest first.", Only.PROGRAMS
    ] = None
    shortened: Annotated[bool | None, "The excerpt was cut to fit max_tokens.", Only.MODELS] = None
    shown_before: Annotated[
        str | None, "Lines of it that this session was shown, in place of an excerpt.", Only.MODELS
    ] = None


class PlainHit(NamedTuple):
    """A hit by the names that most systems know."""

    text: Annotated[str, "The excerpt, or the whole passage if that was asked for."]
    score: Annotated[float, "0 to 1, comparable from query to query."]
    metadata: Annotated[
        Mapping[str, str],
        "Where it stands: doc_id, collection, filename, source, url, path, kind, title, page, pages, lines.",
    ]


class Remark(NamedTuple):
    """A note on an answer."""

    kind: Annotated[
        str,
        "What it is about: answer, correction, weaker, changes, arriving, missing, unfinished, embedding or elsewhere.",
    ]
    text: Annotated[str, "The note, without what to type."]
    command: Annotated[str | None, "What to type to know more, or to change it."] = None


class SearchAnswer(NamedTuple):
    """The results of a search."""

    query: Annotated[str, "What was looked for.", Only.PROGRAMS]
    mode: Annotated[str, "How it was searched: hybrid, keyword or semantic.", Only.PROGRAMS]
    hits: Annotated[tuple[Passage, ...], "What was found, best first."]
    truncated: Annotated[bool, "Whether there may be more; see next_cursor."]
    next_cursor: Annotated[str | None, "Repeat the search with it to get more."]
    index: Annotated[IndexState, "What the answer was drawn from."]  # type: ignore[assignment]  # not the method of tuples
    weak: Annotated[bool, "Nothing matches well: hits are only the nearest."] = False
    weaker_left_out: Annotated[
        bool, "True when hits that are much weaker than the best were left out; `--all` shows them.", Only.PROGRAMS
    ] = False
    notes: Annotated[tuple[str, ...], "What to know about the answer."] = ()
    remarks: Annotated[tuple[Remark, ...] | None, "The notes once more, each with what it is about.", Only.PROGRAMS] = (
        None
    )
    corrections: Annotated[
        Mapping[str, str] | None,
        "Words that no file has, each with the word that was searched for instead.",
        Only.PROGRAMS,
    ] = None
    files: Annotated[int | None, "With facets: files that the filters leave."] = None
    facets: Annotated[
        Mapping[str, Mapping[str, int]] | None,
        "With facets, in place of hits: files by type, directory, year …",
    ] = None
    results: Annotated[
        tuple[PlainHit, ...] | None, "The hits once more, by plain names; in the API alone.", Only.PROGRAMS
    ] = None
    named: Annotated[int | None, "Files and directories that the query names, where these hits are not all."] = None
    left_out: Annotated[int | None, "Hits that did not fit into max_tokens.", Only.MODELS] = None
    collection: Annotated[str | None, "In the API: the collection that was searched, if it was one.", Only.PROGRAMS] = (
        None
    )


class PlainAnswer(NamedTuple):
    """The answer to a search, by the names that most systems know."""

    results: Annotated[tuple[PlainHit, ...], "What was found, best first."]
    query: Annotated[str, "What was looked for."]
    collection: Annotated[str | None, "The collection that was searched, if it was one."]
    next_cursor: Annotated[str | None, "Repeat the search with it to get more."] = None
    left_out: Annotated[int | None, "Hits that did not fit into max_tokens."] = None
    weak: Annotated[bool, "Nothing matches well: these are only the nearest."] = False
    notes: Annotated[tuple[str, ...], "What to know about the answer."] = ()


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
        scan=_scanned_place(hit.scan) if hit.scan else None,
        collection=hit.collection or None,
        doc_id=hit.sent.doc_id if hit.sent else None,
        filename=hit.sent.filename if hit.sent else None,
        url=(hit.sent.url or None) if hit.sent else None,
        text=hit.text if full else None,
        on_disk=hit.on_disk,
        matched="name" if hit.named else None,
        no_text=(hit.named.why_without_text or None) if hit.named else None,
        pages=hit.pages if len(hit.pages) > 1 else None,
        row=hit.row or None,
        cell=hit.cell or None,
        date=None if hit.dated_at is None else (format_timestamp(hit.dated_at) or "")[:_DAY],
        agreements=hit.agreements or None,
        explanation=hit.explanation if explain else None,
    )


def plain_hits(passages: Iterable[Passage]) -> tuple[PlainHit, ...]:
    """Return passages by the field names of most systems; hits without text are omitted."""
    return tuple(_plain_hit(passage) for passage in passages if passage.no_text is None and passage.kind != DIRECTORY)


def plain_answer(answer: SearchAnswer, collections: Sequence[str]) -> PlainAnswer:
    """Return an answer by the field names of most systems."""
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


def _scanned_place(scan: ScannedPassage) -> ScannedPlace:
    return ScannedPlace(
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
