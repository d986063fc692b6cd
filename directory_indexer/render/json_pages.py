"""The JSON that every reporting command writes with `--json`; `docs/json.md` describes each shape.

Names are ASCII and exact: a path that is no valid Unicode comes as the lone surrogates that Python's `os.fsencode`
takes back. A page has a size limit; what does not fit is left out whole, and the page says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from directory_indexer.embedders.space import EmbeddingSpace
from directory_indexer.errors import DirIndexError
from directory_indexer.files import SkipReason
from directory_indexer.findings import Finding, Verdict
from directory_indexer.lazy import lazily
from directory_indexer.paths import exact_text
from directory_indexer.render.json_objects import (
    JsonObject,
    directory_object,
    failure_object,
    hit_object,
    plan_changes,
    plan_counts,
    run_object,
    skipped_object,
    summary_object,
)
from directory_indexer.searching.texts import FileText

with lazily:
    from directory_indexer.config import LoadedConfig
    from directory_indexer.docstore.summaries import IndexSummary
    from directory_indexer.exporting.exporter import ExportReport
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import EmbeddingEstimate, IndexReport, MigrationReport
    from directory_indexer.searching.answers import SearchResult
    from directory_indexer.status import StatusReport


PAGE_BYTES = 200_000
"""So large is a page at most: what a program reads at once, and no terminal is flooded by."""

_RESERVED_BYTES = 64  # for a longer line number, cursor or option than an empty page has
_MOST_BYTES_A_CHARACTER = len(json.dumps("\U0001f600")) - len('""')


class _Listed(NamedTuple):
    items: Sequence[object]
    n_all: int


def search_json(
    result: SearchResult,
    *,
    index: IndexSummary,
    first: int = 0,
    full: bool = False,
    explain: bool = False,
    page_bytes: int = PAGE_BYTES,
) -> str:
    """Write an answer, from its hit number `first` on, where an earlier page left off."""
    hits = [hit_object(hit, full=full, explain=explain) for hit in result.hits[first:]]
    page: JsonObject = {
        "query": result.request.query,
        "mode": result.request.mode,
        "degraded": list(result.degraded),
        "weak": result.is_weak,
        "hits": [],
        "truncated": False,
        "next_cursor": None,
        "index": summary_object(index),
    }
    n_shown = _n_fitting(hits, _room(page, page_bytes), at_least=1)
    is_truncated = n_shown < len(hits) or result.is_truncated
    next_cursor = str(first + n_shown) if is_truncated else None
    return _text(page | {"hits": hits[:n_shown], "truncated": is_truncated, "next_cursor": next_cursor})


def get_json(file_text: FileText, *, page_bytes: int = PAGE_BYTES) -> str:
    """Write the text of a file, as much of it as fits, and the option that asks for the rest."""
    page: JsonObject = {
        "path": exact_text(file_text.path),
        "kind": file_text.facts.kind,
        "title": file_text.facts.title or None,
        "text": "",
        "start_line": file_text.start_line,
        "end_line": file_text.end_line,
        "lines": file_text.n_lines,
        "chunks": file_text.n_chunks,
        "changed": file_text.has_changed,
        "truncated": False,
        "next": None,
    }
    text, last_line, following = _text_that_fits(file_text, _room(page, page_bytes))
    return _text(page | {"text": text, "end_line": last_line, "truncated": following is not None, "next": following})


def index_json(report: IndexReport, *, page_bytes: int = PAGE_BYTES) -> str:
    """Write what a run did."""
    page: JsonObject = {
        "outcome": report.outcome,
        "seconds": round(report.seconds, 3),
        "files": report.n_seen,
        "added": report.n_added,
        "changed": report.n_changed,
        "moved": report.n_moved,
        "unchanged": report.n_unchanged,
        "skipped": report.n_skipped,
        "failed": report.n_failed,
        "removed": report.n_removed,
        "ignored": report.n_ignored,
        "masked": report.n_masked,
        "bytes": report.n_bytes,
        "chunks": report.n_chunks,
        "embedded": report.n_embedded,
        "reused": report.n_reused,
        "pending": report.n_pending,
        "refused": len(report.refused),
        "truncated_texts": report.n_truncated,
        "tokens": report.n_tokens,
        "provider_error": report.unavailable or None,
        "skip_reasons": dict(report.skipped),
        "unavailable": [exact_text(root) for root in report.unavailable_roots],
    }
    failures = [failure_object(failure) for failure in (*report.failures, *report.refused)]
    return _with_lists(page, {"failures": _Listed(failures, len(failures))}, page_bytes)


def migration_json(report: MigrationReport, *, endpoint: str | None) -> str:
    """Write what copying vectors came to, and what the configuration says to answer from there."""
    page: JsonObject = {
        "outcome": report.outcome,
        "seconds": round(report.seconds, 3),
        "vectors": report.n_vectors,
        "copied": report.n_copied,
        "compared_hits": report.n_compared_hits,
        "same_hits": report.n_same_hits,
        "configuration": _endpoint(endpoint),
    }
    return json.dumps(page, ensure_ascii=False)


def export_json(report: ExportReport) -> str:
    """Write what an export came to."""
    return _text(
        {
            "outcome": report.outcome,
            "seconds": round(report.seconds, 3),
            "file": None if report.file is None else exact_text(report.file),
            "format": report.format,
            "files": report.n_files,
            "chunks": report.n_chunks,
            "bytes": report.n_bytes,
        }
    )


def endpoint_json(endpoint: str | None) -> str:
    """Write the part of a configuration that says where the vectors are."""
    return json.dumps(_endpoint(endpoint), ensure_ascii=False, indent=2)


def _endpoint(endpoint: str | None) -> JsonObject:
    return {"storage": {"qdrant": {"endpoint": endpoint}}}


def plan_json(plans: Sequence[Plan], estimate: EmbeddingEstimate, *, page_bytes: int = PAGE_BYTES) -> str:
    """Write what a run would do, path by path as far as they fit."""
    counts = [plan_counts(plan) for plan in plans]
    directories = [{"path": exact_text(plan.directory), **one} for plan, one in zip(plans, counts, strict=True)]
    totals: Counter[str] = Counter()
    for one in counts:
        totals.update(one)
    page: JsonObject = {
        "dry_run": True,
        **totals,
        "embedding": estimate.space_name,
        "tokens": estimate.n_tokens,
        "redone": list(estimate.redone),
        "directories": directories,
    }
    changes = [change for plan in plans for change in plan_changes(plan)]
    return _with_lists(page, {"changes": _Listed(changes, len(changes))}, page_bytes)


def status_json(report: StatusReport, *, verbose: bool = False, page_bytes: int = PAGE_BYTES) -> str:
    """Write how the index stands, and which files were skipped if that is asked for."""
    directories = report.directories
    n_failed = sum(one.n_failed for one in directories)
    reasons: Counter[SkipReason] = Counter()
    for directory in directories:
        reasons.update(dict(directory.skipped))
    page: JsonObject = {
        "files": sum(one.n_files for one in directories),
        "bytes": sum(one.n_bytes for one in directories),
        "chunks": sum(one.n_chunks for one in directories),
        "embedded": sum(one.n_embedded for one in directories),
        "skipped": reasons.total(),
        "failed": n_failed,
        "masked": sum(one.n_masked for one in directories),
        "skip_reasons": dict(reasons.most_common()),
        "directories": [directory_object(one) for one in directories],
        "model": _space_object(report.space),
        "next_model": _space_object(report.next_space),
        "database_bytes": report.n_database_bytes,
        "vector_bytes": report.n_vector_bytes,
        "running": report.running and run_object(report.running),
        "last_run": report.last_run and run_object(report.last_run),
    }
    failures = [failure_object(failure) for failure in report.failures]
    lists = {"failures": _Listed(failures, n_failed + sum(one.n_refused for one in directories))}
    if verbose:
        lists["skipped_files"] = _Listed([*map(skipped_object, report.skipped_files)], reasons.total())
    return _with_lists(page, lists, page_bytes)


def _space_object(space: EmbeddingSpace | None) -> JsonObject | None:
    if space is None:
        return None
    return {"provider": space.provider, "model": space.model, "dimensions": space.dimensions or None}


def doctor_json(findings: Sequence[Finding]) -> str:
    """Write what was checked and found."""
    shown = [
        {"check": one.check, "verdict": one.verdict, "message": one.message, "hint": one.hint or None}
        for one in findings
    ]
    return _text({"healthy": all(one.verdict != Verdict.PROBLEM for one in findings), "findings": shown})


def config_json(loaded: LoadedConfig) -> str:
    """Write every setting with its origin; the keys of services are asterisks."""
    settings = {
        one.key: {"value": one.value, "source": one.source, "origin": one.origin or None} for one in loaded.settings
    }
    file = None if loaded.file is None else str(loaded.file)
    return _text({"file": file, "settings": settings, "warnings": list(loaded.warnings)})


def error_json(error: DirIndexError) -> str:
    """Write an error that ends a command."""
    return _text({"error": error.message, "hint": error.hint, "exit_code": error.exit_code})


def _text(page: Mapping[str, object]) -> str:
    return json.dumps(page)


def _room(empty_page: JsonObject, page_bytes: int) -> int:
    return page_bytes - len(_text(empty_page)) - _RESERVED_BYTES


def _n_fitting(items: Iterable[object], n_bytes: int, *, at_least: int = 0) -> int:
    n_fitting = 0
    for item in items:
        n_bytes -= len(json.dumps(item)) + len(", ")
        if n_bytes < 0:
            break
        n_fitting += 1
    return max(n_fitting, at_least)


def _with_lists(page: JsonObject, lists: Mapping[str, _Listed], page_bytes: int) -> str:
    is_truncated = False
    page = {**page, **{name: [] for name in lists}, "truncated": False}
    for name, listed in lists.items():
        n_fitting = _n_fitting(listed.items, _room(page, page_bytes))
        page[name] = listed.items[:n_fitting]
        is_truncated |= n_fitting < listed.n_all
    return _text(page | {"truncated": is_truncated})


def _text_that_fits(file_text: FileText, n_bytes: int) -> tuple[str, int, str | None]:
    """Give whole lines, the number of the last one, and the option that asks for what follows."""
    lines = file_text.text.split("\n")
    n_fitting = _n_fitting(lines, n_bytes)
    if n_fitting == len(lines):
        return file_text.text, file_text.end_line, None
    if n_fitting == 0:
        start = lines[0][: max(n_bytes, 0) // _MOST_BYTES_A_CHARACTER]
        return (
            start,
            file_text.start_line,
            f"--chunks {_chunk_at(file_text, len(start))}-{file_text.chunks[-1].ordinal + 1}",
        )
    last_line = file_text.start_line + n_fitting - 1
    return (
        "".join(f"{text}\n" for text in lines[:n_fitting]),
        last_line,
        f"--lines {last_line + 1}-{file_text.end_line}",
    )


def _chunk_at(file_text: FileText, n_chars: int) -> int:
    """Give the number of the chunk that so many characters lie before, or of an earlier one."""
    start = file_text.chunks[0].start_char
    return next(chunk.ordinal for chunk in file_text.chunks if chunk.end_char - start > n_chars) + 1
