"""Records as JSON objects; `docs/json.md` describes each of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TypeAlias

from directory_indexer.docstore.runs import RunRecord
from directory_indexer.files import FileFailure, SkippedFile
from directory_indexer.ids import uuid_text
from directory_indexer.lazy import lazily
from directory_indexer.paths import exact_text

with lazily:
    from directory_indexer.docstore.summaries import DirectoryStatus, IndexSummary
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.relevance.evidence import Explanation
    from directory_indexer.searching.answers import Hit


JsonObject: TypeAlias = dict[str, object]


def hit_object(hit: Hit, *, full: bool, explain: bool) -> JsonObject:
    """Describe one passage."""
    shown: JsonObject = {
        "path": exact_text(hit.path),
        "score": round(hit.score, 4),
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "page": hit.page,
        "heading": hit.heading or None,
        "excerpt": hit.excerpt.text,
        "excerpt_start_line": hit.excerpt.start_line,
        "excerpt_end_line": hit.excerpt.end_line,
        "marks": [list(mark) for mark in hit.excerpt.marks],
        "kind": hit.facts.kind,
        "title": hit.facts.title or None,
        "chunk": hit.ordinal + 1,
        "chunk_id": uuid_text(hit.chunk_id),
        "more_in_file": hit.n_more_in_file,
    }
    if full:
        shown["text"] = hit.text
    if explain:
        shown["explanation"] = _explanation(hit.explanation)
    return shown


def _explanation(explanation: Explanation) -> JsonObject:
    return {
        "keyword_rank": explanation.keyword_rank,
        "keyword_score": explanation.keyword_score,
        "semantic_rank": explanation.semantic_rank,
        "semantic_score": explanation.semantic_score,
        "signals": dict(explanation.signals),
    }


def summary_object(index: IndexSummary) -> JsonObject:
    """Describe what an answer was drawn from."""
    return {
        "directories": index.n_directories,
        "files": index.n_files,
        "chunks": index.n_chunks,
        "embedded": index.n_embedded,
        "running": index.is_running,
        "completed_at": _timestamp(index.completed_at),
    }


def plan_counts(plan: Plan) -> dict[str, int]:
    """Count what a run would do in one directory."""
    kinds = {
        "added": len(plan.requests) - len(plan.changed),
        "changed": len(plan.changed),
        "unchanged": plan.n_unchanged,
        "skipped": plan.skip_counts.total(),
        "failed": len(plan.failures) + len(plan.broken),
    }
    others = {"bytes": plan.n_bytes, "removed": len(plan.removed), "ignored": len(plan.ignored)}
    return {"files": sum(kinds.values()), **kinds, **others}


def plan_changes(plan: Plan) -> Iterator[JsonObject]:
    """Describe what a run would do, path by path."""
    for request in plan.requests:
        path = request.source.path
        yield {"path": exact_text(path), "action": "update" if path in plan.changed else "add", "reason": None}
    for removed in plan.removed:
        yield {"path": exact_text(removed), "action": "remove", "reason": None}
    for failure in (*plan.failures, *plan.broken):
        yield {"path": exact_text(failure.path), "action": "fail", "reason": failure.message}
    for skipped in plan.skipped:
        reason = f"{skipped.reason} {skipped.detail}".rstrip()
        yield {"path": exact_text(skipped.path), "action": "skip", "reason": reason}
    for ignored in plan.ignored:
        yield {"path": exact_text(ignored.path), "action": "ignore", "reason": ignored.rule}


def directory_object(directory: DirectoryStatus) -> JsonObject:
    """Describe a tracked directory."""
    return {
        "path": exact_text(directory.path),
        "available": directory.is_available,
        "completed_at": _timestamp(directory.completed_at),
        "files": directory.n_files,
        "bytes": directory.n_bytes,
        "chunks": directory.n_chunks,
        "embedded": directory.n_embedded,
        "skipped": sum(n for _, n in directory.skipped),
        "failed": directory.n_failed,
        "masked": directory.n_masked,
        "skip_reasons": dict(directory.skipped),
    }


def failure_object(failure: FileFailure) -> JsonObject:
    """Describe a file that could not be processed."""
    return {"path": exact_text(failure.path), "stage": failure.stage, "message": failure.message}


def skipped_object(skipped: SkippedFile) -> JsonObject:
    """Describe a file that holds nothing to index."""
    return {"path": exact_text(skipped.path), "reason": skipped.reason, "detail": skipped.detail or None}


def run_object(run: RunRecord) -> JsonObject:
    """Describe a run, going on or ended."""
    progress = run.progress
    return {
        "pid": run.pid,
        "host": run.host,
        "verb": run.verb,
        "directories": [exact_text(directory) for directory in run.directories],
        "started_at": _timestamp(run.started_at),
        "heartbeat_at": _timestamp(run.heartbeat_at),
        "phase": progress.phase,
        "outcome": run.outcome,
        "message": run.message or None,
        "files_done": progress.files_done,
        "files_total": progress.files_total,
        "bytes_done": progress.bytes_done,
        "bytes_total": progress.bytes_total,
        "chunks_done": progress.chunks_done,
        "chunks_total": progress.chunks_total,
        "failed": progress.n_failed,
    }


def _timestamp(seconds: float | None) -> str | None:
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
