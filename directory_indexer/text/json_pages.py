"""JSON output of every command with `--json`, made from the records in `api`.

A page is ASCII and has a size limit; items that do not fit are left out whole, and the page says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from directory_indexer.api import JsonObject, to_json_object
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api import Position
    from directory_indexer.api.collections import documents_answer
    from directory_indexer.api.contents import grep_answer, matching_file, text_answer
    from directory_indexer.api.hits import facets_answer, passage_of, search_answer
    from directory_indexer.api.reports import (
        endpoint_setting,
    )
    from directory_indexer.api.runs import plan_answer, run_report
    from directory_indexer.api.status import status_answer
    from directory_indexer.collections.documents import DocumentPage
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import IndexReport, WorkEstimate
    from directory_indexer.indexing.status import StatusReport
    from directory_indexer.search.file_texts import FileText
    from directory_indexer.search.grep import FileMatches, GrepRequest
    from directory_indexer.search.requests import SearchRequest, SearchResult
    from directory_indexer.storage.documents.statistics import Facets, IndexSummary

PAGE_BYTES = 200_000
"""Maximum size of a page: a program reads it at once, and it does not flood a terminal."""

_RESERVED_BYTES = 64  # for values that are longer than in an empty page
_MAX_BYTES_PER_CHARACTER = len(json.dumps("\U0001f600")) - len('""')


def search_json(
    result: SearchResult,
    *,
    index: IndexSummary,
    position: Position,
    full: bool = False,
    explain: bool = False,
    page_bytes: int = PAGE_BYTES,
) -> str:
    """Format the hits that follow a position, as many as fit."""
    hits = [passage_of(hit, full=full, explain=explain) for hit in result.hits]
    longest = position.cursor_after(result.hits, state=result.state)
    room = _bytes_left(to_json_object(search_answer(result, index=index, hits=(), next_cursor=longest)), page_bytes)
    n_shown = _n_fitting(map(to_json_object, hits), room, at_least=1)
    is_truncated = n_shown < len(hits) or result.is_truncated
    cursor = position.cursor_after(result.hits[:n_shown], state=result.state) if is_truncated else None
    return record_json(search_answer(result, index=index, hits=hits[:n_shown], next_cursor=cursor))


def facets_json(request: SearchRequest, facets: Facets, *, index: IndexSummary) -> str:
    """Format the facets of the files that a search covers."""
    return record_json(facets_answer(request, facets, index=index))


def get_json(file_text: FileText, *, page_bytes: int = PAGE_BYTES) -> str:
    """Format the text of a file, as much of it as fits, and where the rest begins."""
    answer = text_answer(file_text)
    part = _part_that_fits(file_text, _bytes_left(to_json_object(answer._replace(text="")), page_bytes))
    is_cut = bool(part.next_start_line or part.next_chunks)
    return record_json(answer._replace(truncated=is_cut, **part._asdict()))


def grep_json(
    request: GrepRequest, files: Iterable[FileMatches], *, notes: Iterable[str], with_lines: bool = True
) -> str:
    """Format all matches, however many there are: a part could be mistaken for all of them."""
    found_files = (matching_file(file, with_lines=with_lines) for file in files)
    return record_json(grep_answer(request.pattern.patterns, found_files, notes=notes))


def texts_json(texts: Sequence[FileText], *, page_bytes: int = PAGE_BYTES) -> str:
    """Format the texts of several files, each with an equal share of the page."""
    pages = [json.loads(get_json(text, page_bytes=page_bytes // len(texts))) for text in texts]
    return json.dumps({"texts": pages})


def index_json(report: IndexReport, *, page_bytes: int = PAGE_BYTES) -> str:
    """Format the report of an index run."""
    page = to_json_object(run_report(report))
    return _truncate_lists(page, {"failures": len(page["failures"])}, page_bytes)


def record_json(record: tuple[Any, ...]) -> str:
    """Format a record that is always small, or has its own paging."""
    return json.dumps(to_json_object(record))


def documents_json(page: DocumentPage, *, page_bytes: int = PAGE_BYTES) -> str:
    """Format the documents that were sent, as many as fit, and where the rest begins."""
    answer = documents_answer(page)
    empty = answer._replace(documents=(), next_cursor=None)
    n_fitting = _n_fitting(
        map(to_json_object, answer.documents), _bytes_left(to_json_object(empty), page_bytes), at_least=1
    )
    if n_fitting < len(answer.documents):
        documents = answer.documents[:n_fitting]
        answer = answer._replace(documents=documents, next_cursor=documents[-1].doc_id)
    return record_json(answer)


def endpoint_json(endpoint: str | None) -> str:
    """Format the part of the configuration that names the vector store."""
    return json.dumps(endpoint_setting(endpoint), ensure_ascii=False, indent=2)


def plan_json(plans: Sequence[Plan], estimate: WorkEstimate, *, page_bytes: int = PAGE_BYTES) -> str:
    """Format what a run would do, path by path as far as they fit."""
    page = to_json_object(plan_answer(plans, estimate))
    return _truncate_lists(page, {"changes": len(page["changes"])}, page_bytes)


def status_json(report: StatusReport, *, verbose: bool = False, page_bytes: int = PAGE_BYTES) -> str:
    """Format the state of the index, with `verbose` including skipped files."""
    page = to_json_object(status_answer(report, verbose=verbose))
    n_refused = sum(directory.n_refused for directory in report.directories)
    lists = {"directories": len(report.directories), "failures": page["failed"] + n_refused}
    if verbose:
        lists |= {"skipped_files": page["skipped"], "unreadable_pages": len(report.unreadable)}
    return _truncate_lists(page, lists, page_bytes)


class _Part(NamedTuple):
    """The part of a text that fits: its last line, and where the rest begins."""

    text: str
    end_line: int
    next_start_line: int | None = None
    next_chunks: str | None = None


def _bytes_left(empty_page: JsonObject, page_bytes: int) -> int:
    return page_bytes - len(json.dumps(empty_page)) - _RESERVED_BYTES


def _n_fitting(items: Iterable[object], n_bytes: int, *, at_least: int = 0) -> int:
    n_fitting = 0
    for item in items:
        n_bytes -= len(json.dumps(item)) + len(", ")
        if n_bytes < 0:
            break
        n_fitting += 1
    return max(n_fitting, at_least)


def _truncate_lists(page: JsonObject, lists: Mapping[str, int], page_bytes: int) -> str:
    """Format a page with its lists cut to fit, the first ones least; the numbers are their full lengths."""
    is_truncated = False
    items = {name: page[name] for name in lists}
    page |= {name: [] for name in lists}
    for name, n_all in lists.items():
        n_fitting = _n_fitting(items[name], _bytes_left(page, page_bytes))
        page[name] = items[name][:n_fitting]
        is_truncated |= n_fitting < n_all
    return json.dumps(page | {"truncated": is_truncated})


def _part_that_fits(file_text: FileText, n_bytes: int) -> _Part:
    """Return as many whole lines as fit, or the beginning of the first line if it is too long."""
    lines = file_text.text.split("\n")
    n_fitting = _n_fitting(lines, n_bytes)
    if n_fitting == len(lines):
        return _Part(file_text.text, file_text.end_line)
    if n_fitting == 0:
        start = lines[0][: max(n_bytes, 0) // _MAX_BYTES_PER_CHARACTER]
        following = f"{_chunk_at(file_text, len(start))}-{file_text.chunks[-1].ordinal + 1}"
        return _Part(start, file_text.start_line, next_chunks=following)
    end_line = file_text.start_line + n_fitting - 1
    return _Part("".join(f"{text}\n" for text in lines[:n_fitting]), end_line, next_start_line=end_line + 1)


def _chunk_at(file_text: FileText, n_chars: int) -> int:
    """Return the number of the chunk that contains a character offset, or of an earlier one."""
    start = file_text.chunks[0].start_char
    return next(chunk.ordinal for chunk in file_text.chunks if chunk.end_char - start > n_chars) + 1
