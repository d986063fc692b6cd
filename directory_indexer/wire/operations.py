"""Records of operations: background work of a server that has an id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from directory_indexer.lazy import lazily
from directory_indexer.wire.objects import timestamp
from directory_indexer.wire.runs import Run

with lazily:
    from directory_indexer.registry.operations import OperationRow
    from directory_indexer.registry.stored_documents import StoredDocument


class OperationEntry(NamedTuple):
    """The state of an operation."""

    id: Annotated[str, "Its id."]
    kind: Annotated[str, "index, ingest, optimize, rebuild, backup or purge."]
    collection: Annotated[str | None, "The collection that it is about; null where it is about all of them."]
    state: Annotated[str, "queued, running, paused, completed, interrupted, out of time, failed or cancelled."]
    message: Annotated[str | None, "What it does, why it failed, or what was met."]
    started_at: Annotated[str | None, "When it began."]
    ended_at: Annotated[str | None, "When it ended or was paused."]
    doc_id: Annotated[str | None, "Of an ingest: the document."] = None
    run: Annotated[Run | None, "Of an index run: how far it is."] = None
    result: Annotated[Mapping[str, Any] | None, "Of administrative work that is completed: what came out."] = None


class OperationList(NamedTuple):
    """Operations."""

    operations: Annotated[tuple[OperationEntry, ...], "The newest ones: administrative ones, ingests, index runs."]


def run_entry(run: Run, *, name: str, collection: str, has_ended: bool) -> OperationEntry:
    """Return the record of an index run."""
    return OperationEntry(
        id=name,
        kind="index",
        collection=collection,
        state=run.state,
        message=run.message,
        started_at=run.started_at,
        ended_at=run.heartbeat_at if has_ended else None,
        run=run._replace(id=name),
    )


def ingest_entry(document: StoredDocument, *, name: str, version: int) -> OperationEntry:
    """Return the record of the ingestion of a version of a document."""
    is_newer = document.version > version
    if version == document.cancelled:
        state, message = "cancelled", "the document is as it was before"
    elif is_newer:
        state, message = "completed", "the document was sent again since"
    else:
        state, message = _STATES[document.state], document.message
    is_paused = document.is_paused and state in {"queued", "running"}
    return OperationEntry(
        id=name,
        kind="ingest",
        collection=document.collection,
        state="paused" if is_paused else state,
        message=message or None,
        started_at=timestamp(document.changed_at),
        ended_at=None,
        doc_id=document.doc_id,
    )


def administrative_entry(row: OperationRow, *, name: str) -> OperationEntry:
    """Return the record of an administrative operation."""
    return OperationEntry(
        id=name,
        kind=row.kind,
        collection=row.collection or None,
        state=row.state,
        message=row.message or None,
        started_at=timestamp(row.started_at),
        ended_at=timestamp(row.ended_at),
        result=row.result or None,
    )


_STATES = {"queued": "queued", "words": "running", "complete": "completed", "failed": "failed", "deleting": "cancelled"}
"""The states of an ingest operation by the states of its document."""
