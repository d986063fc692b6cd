"""The JSON that every reporting command writes with `--json`, made from the records in `wire`.

A page is ASCII and has a size limit; what does not fit is left out whole, and the page says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from directory_indexer.errors import DirIndexError
from directory_indexer.lazy import lazily
from directory_indexer.wire.objects import JsonObject, object_of

with lazily:
    from directory_indexer.config import LoadedConfig
    from directory_indexer.docstore.facets import Facets
    from directory_indexer.docstore.pauses import PausedRun
    from directory_indexer.docstore.summaries import IndexSummary
    from directory_indexer.exporting.exporter import ExportReport
    from directory_indexer.findings import Finding
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import EmbeddingEstimate, IndexReport, MigrationReport
    from directory_indexer.paths import FilePath
    from directory_indexer.registry.keys import Key
    from directory_indexer.searching.answers import SearchRequest, SearchResult
    from directory_indexer.searching.grep import GrepMatches, GrepRequest
    from directory_indexer.searching.texts import FileText
    from directory_indexer.status import StatusReport
    from directory_indexer.wire.cursors import Position
    from directory_indexer.wire.documents import converted, text_answer
    from directory_indexer.wire.grep import found_file, grep_answer
    from directory_indexer.wire.hits import facets_answer, passage_of, search_answer
    from directory_indexer.wire.keys import KeyList, key_facts
    from directory_indexer.wire.reports import (
        ForgetAnswer,
        config_answer,
        doctor_answer,
        endpoint_setting,
        error_answer,
        export_answer,
        migration_answer,
    )
    from directory_indexer.wire.run_reports import plan_answer, run_report
    from directory_indexer.wire.status import PausedList, paused_of, status_answer


PAGE_BYTES = 200_000
"""So large is a page at most: what a program reads at once, and no terminal is flooded by."""

_RESERVED_BYTES = 64  # for a longer number, or chunks to go on with, than an empty page has
_MOST_BYTES_A_CHARACTER = len(json.dumps("\U0001f600")) - len('""')


class _Part(NamedTuple):
    """What is shown of a text: up to which line, and where it goes on."""

    text: str
    end_line: int
    next_start_line: int | None = None
    next_chunks: str | None = None


def search_json(
    result: SearchResult,
    *,
    index: IndexSummary,
    position: Position,
    full: bool = False,
    explain: bool = False,
    page_bytes: int = PAGE_BYTES,
) -> str:
    """Write the hits that follow a position, as many as fit."""
    hits = [passage_of(hit, full=full, explain=explain) for hit in result.hits]
    longest = position.cursor_after(result.hits, state=result.state)
    room = _room(object_of(search_answer(result, index=index, hits=(), next_cursor=longest)), page_bytes)
    n_shown = _n_fitting(map(object_of, hits), room, at_least=1)
    is_truncated = n_shown < len(hits) or result.is_truncated
    cursor = position.cursor_after(result.hits[:n_shown], state=result.state) if is_truncated else None
    return _text(search_answer(result, index=index, hits=hits[:n_shown], next_cursor=cursor))


def facets_json(request: SearchRequest, facets: Facets, *, index: IndexSummary) -> str:
    """Write how the files spread that a search would look into."""
    return _text(facets_answer(request, facets, index=index))


def get_json(file_text: FileText, *, page_bytes: int = PAGE_BYTES) -> str:
    """Write the text of a file, as much of it as fits, and where the rest begins."""
    answer = text_answer(file_text)
    part = _part_that_fits(file_text, _room(object_of(answer._replace(text="")), page_bytes))
    is_cut = bool(part.next_start_line or part.next_chunks)
    return _text(answer._replace(truncated=is_cut, **part._asdict()))


def grep_json(
    request: GrepRequest, files: Iterable[GrepMatches], *, notes: Iterable[str], with_lines: bool = True
) -> str:
    """Write all that was found, however much that is: a part of it would pass for all of it."""
    shown = (found_file(file, with_lines=with_lines) for file in files)
    return _text(grep_answer(request.pattern.patterns, shown, notes=notes))


def texts_json(texts: Sequence[FileText], *, page_bytes: int = PAGE_BYTES) -> str:
    """Write the texts of several files, each with an equal share of the page."""
    pages = [json.loads(get_json(text, page_bytes=page_bytes // len(texts))) for text in texts]
    return json.dumps({"texts": pages})


def index_json(report: IndexReport, *, page_bytes: int = PAGE_BYTES) -> str:
    """Write what a run did."""
    page = object_of(run_report(report))
    return _with_lists(page, {"failures": len(page["failures"])}, page_bytes)


def migration_json(report: MigrationReport, *, endpoint: str | None) -> str:
    """Write what copying vectors came to, and what the configuration says to answer from there."""
    return _text(migration_answer(report, endpoint=endpoint))


def export_json(report: ExportReport) -> str:
    """Write what an export came to."""
    return _text(export_answer(report))


def convert_json(source: str, text: str, *, file: FilePath | None) -> str:
    """Write a converted document as a whole, or the file that it was written to."""
    return _text(converted(source, text if file is None else None, file=file))


def record_json(record: tuple[Any, ...]) -> str:
    """Write a record that is small whatever it is about, or has its own pages."""
    return _text(record)


def forget_json(path: str, *, n_files: int) -> str:
    """Write what was forgotten."""
    return _text(ForgetAnswer(path, n_files))


def key_json(key: Key, *, secret: str | None = None) -> str:
    """Write what is known of a key; and the key itself, when it is made."""
    return _text(key_facts(key, secret=secret))


def keys_json(keys: Sequence[Key]) -> str:
    """Write what is known of all keys."""
    return _text(KeyList(tuple(map(key_facts, keys))))


def endpoint_json(endpoint: str | None) -> str:
    """Write the part of a configuration that says where the vectors are."""
    return json.dumps(endpoint_setting(endpoint), ensure_ascii=False, indent=2)


def plan_json(plans: Sequence[Plan], estimate: EmbeddingEstimate, *, page_bytes: int = PAGE_BYTES) -> str:
    """Write what a run would do, path by path as far as they fit."""
    page = object_of(plan_answer(plans, estimate))
    return _with_lists(page, {"changes": len(page["changes"])}, page_bytes)


def status_json(report: StatusReport, *, verbose: bool = False, page_bytes: int = PAGE_BYTES) -> str:
    """Write how the index stands, and which files were skipped if that is asked for."""
    page = object_of(status_answer(report, verbose=verbose))
    n_refused = sum(directory.n_refused for directory in report.directories)
    lists = {"failures": page["failed"] + n_refused} | ({"skipped_files": page["skipped"]} if verbose else {})
    return _with_lists(page, lists, page_bytes)


def paused_json(paused: Iterable[PausedRun]) -> str:
    """Write what is paused."""
    return _text(PausedList(tuple(map(paused_of, paused))))


def doctor_json(findings: Sequence[Finding]) -> str:
    """Write what was checked and found."""
    return _text(doctor_answer(findings))


def config_json(loaded: LoadedConfig) -> str:
    """Write every setting with its origin; the keys of services are asterisks."""
    return _text(config_answer(loaded))


def error_json(error: DirIndexError) -> str:
    """Write an error that ends a command."""
    return _text(error_answer(error))


def _text(record: tuple[Any, ...]) -> str:
    return json.dumps(object_of(record))


def _room(empty_page: JsonObject, page_bytes: int) -> int:
    return page_bytes - len(json.dumps(empty_page)) - _RESERVED_BYTES


def _n_fitting(items: Iterable[object], n_bytes: int, *, at_least: int = 0) -> int:
    n_fitting = 0
    for item in items:
        n_bytes -= len(json.dumps(item)) + len(", ")
        if n_bytes < 0:
            break
        n_fitting += 1
    return max(n_fitting, at_least)


def _with_lists(page: JsonObject, lists: Mapping[str, int], page_bytes: int) -> str:
    """Cut the last lists of a page so that it fits; of each it is known how many there are altogether."""
    is_truncated = False
    items = {name: page[name] for name in lists}
    page |= {name: [] for name in lists}
    for name, n_all in lists.items():
        n_fitting = _n_fitting(items[name], _room(page, page_bytes))
        page[name] = items[name][:n_fitting]
        is_truncated |= n_fitting < n_all
    return json.dumps(page | {"truncated": is_truncated})


def _part_that_fits(file_text: FileText, n_bytes: int) -> _Part:
    """Return whole lines, or as much of a line as fits if it is too long."""
    lines = file_text.text.split("\n")
    n_fitting = _n_fitting(lines, n_bytes)
    if n_fitting == len(lines):
        return _Part(file_text.text, file_text.end_line)
    if n_fitting == 0:
        start = lines[0][: max(n_bytes, 0) // _MOST_BYTES_A_CHARACTER]
        following = f"{_chunk_at(file_text, len(start))}-{file_text.chunks[-1].ordinal + 1}"
        return _Part(start, file_text.start_line, next_chunks=following)
    end_line = file_text.start_line + n_fitting - 1
    return _Part("".join(f"{text}\n" for text in lines[:n_fitting]), end_line, next_start_line=end_line + 1)


def _chunk_at(file_text: FileText, n_chars: int) -> int:
    """Return the number of the chunk that so many characters lie before, or of an earlier one."""
    start = file_text.chunks[0].start_char
    return next(chunk.ordinal for chunk in file_text.chunks if chunk.end_char - start > n_chars) + 1
